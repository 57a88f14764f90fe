# docker build -t rocktune .
# docker run --rm --init -v rocktune:/data rocktune tune --out /data/out
# docker run --init -p 127.0.0.1:8080:8080 -v rocktune:/data rocktune serve --host 0.0.0.0     prints a link
# docker run --rm --init -v rocktune:/data rocktune token show                       its token, later
# No health check is built in: `tune` and `worker` listen nowhere, and `serve` where it is told to. For `serve`:
#   --health-cmd "python3 -c \"import urllib.request as r; r.urlopen('http://127.0.0.1:8080/readyz', timeout=4)\""
# A folder of your own instead of the volume:  mkdir out, and --user "$(id -u):$(id -g)" -v "$PWD/out:/data"
FROM debian:bookworm-slim AS made
RUN apt-get update && apt-get install --yes --no-install-recommends make python3
WORKDIR /opt/rocktune
COPY . .
RUN make setup && rm -rf .venv/uv

FROM debian:bookworm-slim
COPY scripts/install.sh /opt/rocktune/scripts/install.sh
RUN /opt/rocktune/scripts/install.sh python3 \
    && /opt/rocktune/scripts/install.sh rocksdb-tools \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home rocktune \
    && install -d -o rocktune -g rocktune /data
COPY --from=made /opt/rocktune /opt/rocktune
# All that is written goes to the volume: trials are kept, and databases under test are on its disk.
# The lock as well: containers of one volume measure one after another. Others do not see each other.
ENV XDG_DATA_HOME=/data ROCKTUNE_BENCH_DIR=/data/bench ROCKTUNE_LOCK=/data/rocktune-host.lock
VOLUME /data
WORKDIR /data
USER rocktune
EXPOSE 8080
ENTRYPOINT ["/opt/rocktune/.venv/bin/rocktune"]
CMD ["--help"]
