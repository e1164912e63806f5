import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * What is measured is compiled JavaScript, gateway and peers alike, built into a folder of our own so
 * that a gateway running from the checkout's `dist` is left alone. Tollgate's processes are built as `npm start`
 * builds them, but for two libraries; single modules of it, and peers, are compiled file by file.
 */

const root = fileURLToPath(new URL('../../../', import.meta.url))
const output = fileURLToPath(new URL('../dist/', import.meta.url))
const BUILD_TIMEOUT_MS = 300_000

/** The probe counts and times what the gateway asks of them (`peers/gateway-probe.ts`). */
const PROBED_LIBRARIES = ['pg', 'prom-client']

let built: Promise<void> | undefined

async function runNode(...args: readonly string[]): Promise<void> {
  const options = { cwd: root, timeout: BUILD_TIMEOUT_MS }
  await promisify(execFile)(process.execPath, args, options).catch((error: unknown) => {
    const said = error instanceof Error && 'stdout' in error ? String(error.stdout) : ''
    throw new Error(`the build failed:\n${said}`, { cause: error })
  })
}

async function compile(): Promise<void> {
  await runNode(`${root}node_modules/typescript/bin/tsc`, '-p', `${root}test/bench/tsconfig.json`)
  await runNode(`${root}infra/bundle.js`, output, ...PROBED_LIBRARIES)
}

/** Builds once a run, unless `BENCH_NO_BUILD=1`. */
export function build(): Promise<void> {
  built ??= process.env['BENCH_NO_BUILD'] === '1' ? Promise.resolve() : compile()
  return built
}

/** A compiled module by its path from the root of the checkout, without extension. */
export function compiled(path: string): string {
  return `${output}${path}.js`
}

/** A file of a peer installed from npm. */
export function installed(path: string): string {
  return fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url))
}
