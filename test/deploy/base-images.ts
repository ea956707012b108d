import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Engine, hasCommand, installPackages, mayInstall, runProgram } from './engine.js';

const PULL_PATIENCE_MS = 60_000;
const MAKE_PATIENCE_MS = 600_000;
/** Of the machine: its registries may be signed for by a certificate of its own. */
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

interface Recipe {
  readonly packages: readonly string[];
  readonly dockerfile: string;
  /** Adds further files to the build's folder. */
  readonly prepare?: (folder: string) => void;
}

/**
 * Stand-ins for base images where no image registry can be reached: a root file system of Debian with the
 * same program in it, made to be used like the real image.
 */
const RECIPES: Readonly<Record<string, Recipe>> = {
  node: {
    packages: ['ca-certificates', 'libstdc++6'],
    dockerfile: `
COPY node /usr/local
COPY ca-certificates.crt ${CERTIFICATES}
RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --create-home node
ENV NODE_EXTRA_CA_CERTS=${CERTIFICATES}
CMD ["node"]
`,
    prepare: unpackNode,
  },
  redis: {
    packages: ['redis-server'],
    dockerfile: `
RUN printf '#!/bin/sh\\nexec /usr/bin/redis-server "$@" --protected-mode no\\n' > /usr/local/bin/redis-server && chmod +x /usr/local/bin/redis-server
VOLUME /data
WORKDIR /data
CMD ["redis-server"]
`,
  },
  'prom/prometheus': {
    packages: ['prometheus'],
    dockerfile: `
VOLUME /prometheus
ENTRYPOINT ["prometheus", "--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
`,
  },
};

/** How an image came to be here. */
type Origin = 'present' | 'pulled' | 'stand-in';

/**
 * Makes sure that an image is on this machine.
 *
 * @throws Error when it can be neither pulled nor made.
 */
export function provideImage(engine: Engine, image: string): Origin {
  if (engine.docker(['image', 'inspect', image]).status === 0) return 'present';
  if (engine.docker(['pull', '--quiet', image], PULL_PATIENCE_MS).status === 0) return 'pulled';
  const [name = '', tag = ''] = image.split(':');
  const recipe = RECIPES[name];
  if (recipe === undefined || !mayInstall())
    throw new Error(`the image ${image} cannot be had here`);
  if (!hasCommand('mmdebstrap')) installPackages(['mmdebstrap']);
  const folder = mkdtempSync(join(tmpdir(), 'x402-base-'));
  try {
    makeRoot(folder, recipe.packages);
    if (existsSync(CERTIFICATES)) copyFileSync(CERTIFICATES, join(folder, 'ca-certificates.crt'));
    writeFileSync(join(folder, 'tag'), tag);
    recipe.prepare?.(folder);
    writeFileSync(join(folder, 'Dockerfile'), `FROM scratch\nADD root.tar /\n${recipe.dockerfile}`);
    engine.mustDocker(['build', '--quiet', '--tag', image, folder], MAKE_PATIENCE_MS);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return 'stand-in';
}

function makeRoot(folder: string, packages: readonly string[]): void {
  const { status, output } = runProgram(
    'mmdebstrap',
    ['--variant=minbase', `--include=${packages.join()}`, 'bookworm', join(folder, 'root.tar')],
    { timeoutMs: MAKE_PATIENCE_MS },
  );
  if (status !== 0) throw new Error(`mmdebstrap failed\n${output.slice(-4000)}`);
}

/** The real program of this version, and npm, from their packages. */
function unpackNode(folder: string): void {
  const version = runProgram('cat', [join(folder, 'tag')]).output.split('-')[0] ?? '';
  const target = join(folder, 'node');
  mkdirSync(target, { recursive: true });
  const packages = [`node-linux-${process.arch}@${version}`, 'npm@11.6.2'];
  const { status, output } = runProgram(
    'npm',
    ['install', '--prefix', target, '--no-audit', '--no-fund', '--global', ...packages],
    { timeoutMs: MAKE_PATIENCE_MS },
  );
  if (status !== 0) throw new Error(`npm could not install ${packages.join()}\n${output}`);
  copyFileSync(
    join(target, 'lib', 'node_modules', `node-linux-${process.arch}`, 'bin', 'node'),
    join(target, 'bin', 'node'),
  );
}
