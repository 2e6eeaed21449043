# vLLM with Maskwright as its backend of structured outputs. Never built by us, and vLLM 0.33.0 was never run: see
# docs/guides/vllm.md. From the root of the repository:
#
#   docker build -f python/docker/vllm.Dockerfile -t vllm-maskwright .
#   docker run --gpus all -p 8000:8000 vllm-maskwright --model MODEL

FROM rust:1-bookworm AS wheel
RUN apt-get update && apt-get install -y --no-install-recommends python3-pip && rm -rf /var/lib/apt/lists/*
COPY . /maskwright
RUN pip install --break-system-packages "maturin>=1.9,<2" \
    && maturin build --profile dist --manifest-path /maskwright/python/Cargo.toml --out /wheels

FROM vllm/vllm-openai:v0.33.0
COPY --from=wheel /wheels /wheels
RUN pip install --no-deps /wheels/*.whl && rm -r /wheels
ENV MASKWRIGHT_VLLM=1
