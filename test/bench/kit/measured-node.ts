import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { installed } from './build.ts'

/** The major version of Node that production uses, so that the figures are of it. */
export const MEASURED_MAJOR = 24

const main = fileURLToPath(new URL('../main.ts', import.meta.url))

/** The machine and the Node that a benchmark was started on. */
export interface StartedOn {
  /** e.g. `24.9.0`. */
  readonly version: string
  /** As `process.platform` and `process.arch` name them. */
  readonly platform: string
  readonly arch: string
}

/**
 * The binary to measure with, installed beside the peers; undefined where it is the one at hand.
 * @throws where there is none for this machine
 */
export function measuredNode({ version, platform, arch }: StartedOn): string | undefined {
  if (version.split('.')[0] === String(MEASURED_MAJOR)) return undefined
  const binary = installed(`node-${platform}-${arch}/bin/node`)
  if (existsSync(binary)) return binary
  throw new Error(
    `figures are of Node ${MEASURED_MAJOR}, this is ${version}, and for ${platform} on ${arch} none is ` +
      `installed in test/bench: run it with Node ${MEASURED_MAJOR}`,
  )
}

/** Runs the benchmarks again on this binary, to their end; gateway, peers and clients follow it. */
export async function runAgainOn(binary: string, args: readonly string[]): Promise<number> {
  const child = spawn(binary, ['--import', import.meta.resolve('tsx'), main, ...args], {
    stdio: 'inherit',
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code ?? 1))
  })
}
