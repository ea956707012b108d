# The service alone: no compiler, no package manager's cache, no test. Runs as nobody in particular on
# a read-only root file system. `--target sandbox` is for trying it out: a chain, a shop and a buyer.

FROM node:24.21.0-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# The lock file points at this folder.
COPY scripts/not-installed scripts/not-installed
# Native packages come prebuilt; no package runs a script of its own here.
RUN npm ci --ignore-scripts --no-audit --no-fund

FROM packages AS build
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY scripts/pack.mjs scripts/pack.mjs
COPY src src
RUN npm run build

# The sandbox in containers: docker-compose.yml starts its chain, shop and buyer from this one image.
FROM packages AS sandbox
COPY tsconfig.json ./
COPY sandbox sandbox
RUN node --import tsx sandbox/containers/compile.ts
USER node
CMD ["node", "--import", "tsx", "sandbox/containers/chain.ts"]

FROM packages AS production-packages
# The compiler is a peer of viem for its types; nothing loads it.
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund && rm -rf node_modules/typescript

FROM node:24.21.0-bookworm-slim
WORKDIR /app
COPY --from=production-packages /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
COPY public public
# Where the hub and the wallet keep files unless told otherwise; mount a volume here.
RUN mkdir -p /data && chown node:node /data
ENV HUB_DATA_DIR=/data/hub WALLET_KEYSTORE_DIR=/data/wallet/keys WALLET_AUDIT_DIR=/data/wallet/audit
USER node
EXPOSE 4022
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 4022}/health/ready`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# As `npm run start:prod`: a bound for what V8 keeps beyond what it needs.
CMD ["node", "--max-semi-space-size=16", "--heap-growing-percent=100", "dist/packed/main.js"]
