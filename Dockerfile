# The service in a container: built with all tools, run with only Node and the production packages. Node 24.21.0 on
# Debian 12, by the digest of its index (amd64, arm64, ppc64le), so that all builds have the same base. Renew it for
# fixes of Node and Debian: docs/operations.md, "Containers", has the commands and the origin of the digest.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
FROM ${NODE_IMAGE} AS build
WORKDIR /app
# sqlite3 is compiled: its ready-made driver needs a newer glibc than Debian 12 has, and is skipped.
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 make g++ \
 && rm -rf /var/lib/apt/lists/*
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts && npm_config_build_from_source=sqlite3 npm rebuild sqlite3
COPY tsconfig.json tsconfig.build.json knexfile.ts vite.config.ts ./
COPY machines machines
COPY src src
COPY cli cli
COPY sim sim
COPY bench bench
COPY web web
COPY bin bin
COPY scenarios scenarios
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM ${NODE_IMAGE}
ENV NODE_ENV=production \
    HEADROOM_HTTP_HOST=0.0.0.0 \
    HEADROOM_MQTT_HOST=0.0.0.0 \
    HEADROOM_DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
COPY bin bin
COPY demo demo
COPY scenarios scenarios
RUN mkdir -m 700 /data && chown node:node /data && ln -s /app/bin/headroom.js /usr/local/bin/headroom
USER node
VOLUME /data
EXPOSE 8080 1883 9000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "const { HEADROOM_HTTP_PORT: port = 8080, HEADROOM_TLS_CERT: cert } = process.env; require(cert ? 'https' : 'http').get({ port, path: '/health', rejectUnauthorized: false }, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["headroom"]
CMD ["serve"]
