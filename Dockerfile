# Core, proofs, figures and LLM training in one image. On a CPU:
#     docker build -t policy-entropy .
# With CUDA: PyPI's torch brings the libraries, the host brings the driver.
#     docker build --build-arg TORCH_INDEX=https://pypi.org/simple -t policy-entropy:cuda .
#     docker run --gpus all policy-entropy:cuda train --help
# No test builds this image: that it builds was not tried.
FROM python:3.12-slim-bookworm
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends coq libcoq-stdlib libcoq-coquelicot make g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /policy-entropy
COPY . .
RUN pip install --no-cache-dir --index-url "$TORCH_INDEX" --extra-index-url https://pypi.org/simple \
        --constraint constraints.txt '.[llm,proofs,figures,fast]'
WORKDIR /work
ENTRYPOINT ["policy-entropy"]
CMD ["--help"]
