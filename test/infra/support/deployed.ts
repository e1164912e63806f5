import { readFileSync } from 'node:fs'
import { ConfigError, loadConfig } from '../../../src/config.ts'
import { listOf } from '../../../src/kernel/variables.ts'
import { variables } from '../../../src/variables.ts'
import { checkout } from '../../helpers/checkout.ts'

/** Facts with which the files of `infra` that deploy the gateway must agree: its image, its variables, its times. */

export type Environment = Readonly<Record<string, string>>

export const textOf = (path: string): string => readFileSync(new URL(path, checkout), 'utf8')

/** The variables that the image sets. */
const imageEnvironment: Environment = Object.fromEntries(
  (/^ENV (.*)$/m.exec(textOf('infra/Dockerfile'))?.[1] ?? '')
    .split(' ')
    .map((entry): readonly [string, string] => {
      const [name = '', value = ''] = entry.split('=', 2)
      return [name, value]
    }),
)

const known = new Set(listOf(variables).map(({ name }) => name))

/** Faults that `tollgate serve` in the image would report for these variables; `further` are credentials of channels. */
export function environmentFaults(
  env: Environment,
  further: readonly string[] = [],
): readonly string[] {
  const unknown = Object.keys(env).filter((name) => !known.has(name) && !further.includes(name))
  try {
    loadConfig({ ...imageEnvironment, ...env }, { serving: true })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [...unknown.map((name) => `unknown variable ${name}`), ...error.faults]
  }
  return unknown.map((name) => `unknown variable ${name}`)
}

/** Beyond its two times the gateway gives up what hangs (`STOP_MARGIN_MS` of `src/cli/serve.ts`). */
const MARGIN_MS = 40_000

/** How long a stop may take with these variables. */
export function stopsWithinMs(env: Environment): number {
  const times = Object.entries(env).filter(([name]) =>
    ['SHUTDOWN_DELAY_MS', 'DRAIN_TIMEOUT_MS'].includes(name),
  )
  const { shutdownDelayMs, drainTimeoutMs } = loadConfig(Object.fromEntries(times))
  return shutdownDelayMs + drainTimeoutMs + MARGIN_MS
}

/** Whether an image is named by a version or a digest. */
export function isPinned(image: string): boolean {
  return /@sha256:[\da-f]{64}$|:(?!latest$)[\w.-]+$/.test(image)
}
