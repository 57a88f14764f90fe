# docker build -t rocktune .  &&  docker run --rm --init -v rocktune:/data rocktune tune --out /data/out
# A folder of your own instead of the volume:  --user "$(id -u):$(id -g)" -v "$PWD/out:/data"
FROM debian:bookworm-slim AS made
RUN apt-get update && apt-get install --yes --no-install-recommends make python3
WORKDIR /opt/rocktune
COPY . .
RUN make setup && rm -rf .venv/uv

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 rocksdb-tools \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home rocktune \
    && install -d -o rocktune -g rocktune /data
COPY --from=made /opt/rocktune /opt/rocktune
# All that is written goes to the volume: trials are kept, and databases under test are on its disk.
ENV XDG_DATA_HOME=/data ROCKTUNE_BENCH_DIR=/data/bench
VOLUME /data
WORKDIR /data
USER rocktune
ENTRYPOINT ["/opt/rocktune/.venv/bin/rocktune"]
CMD ["--help"]
