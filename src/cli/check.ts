import { checkDataDir } from '../../infra/embedded/data-dir.ts'
import { requireLongSecret } from '../app/access/secret-agreement.ts'
import type { Channel } from '../app/ports/provider.ts'
import { type Config, ConfigError, readConfig } from '../config.ts'
import { type Role, roles } from '../start/roles.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { isForOperators, messageOf } from './explain.ts'
import { CommandError, UsageError } from './output.ts'
import { requireEmbeddedStores } from './stores.ts'

/**
 * Checks of a configuration: each runs whatever the others find, and all faults are listed together. What a check
 * needs is loaded only where the configuration has something for it: a start on embedded stores begins those first.
 */

/** One check; it throws what is wrong, and returns warnings. */
export type Check = () => Promise<readonly string[] | void>

/** Result of the checks of a configuration that has no fault. */
interface CheckedConfiguration {
  /** The configured accounts; undefined without any. */
  readonly channels: readonly Channel[] | undefined
  readonly warnings: readonly string[]
}

/** The roles of a process. @throws UsageError */
export function parseRoles(list: string | undefined): ReadonlySet<Role> {
  if (list === undefined) return new Set(roles)
  const names = list.split(',').map((name) => name.trim())
  const unknown = names.filter((name) => !roles.some((role) => role === name))
  if (unknown.length > 0)
    throw new UsageError(`unknown role ${unknown.join(', ')}; there are ${roles.join(', ')}`)
  return new Set(roles.filter((role) => names.includes(role)))
}

/**
 * Checks what a start needs of its configuration before it asks a store; returns the configured
 * accounts, undefined without any.
 * @throws ConfigError, ChannelFileError
 */
export async function requireConfiguration(
  config: Config,
  wanted: ReadonlySet<Role>,
  warn: (what: string) => void,
): Promise<readonly Channel[] | undefined> {
  let channels: readonly Channel[] | undefined
  const { external, priceBookFile, channelsFile } = config
  await runChecks([
    async () => requireOperationsPort(config, wanted),
    async () => {
      if (external === undefined) requireEmbeddedStores()
      else (await import('./store-urls.ts')).requireStoreUrls(external)
    },
    async () => {
      if (priceBookFile !== undefined)
        await (await import('./upstreams.ts')).requirePriceBook(config)
    },
    async () => {
      if (channelsFile !== undefined)
        channels = await (await import('./upstreams.ts')).readChannels(config)
    },
  ])
  for (const warning of await warningsOf(config)) warn(warning)
  return channels
}

/**
 * Makes the checks of a start, and those of `further`, whatever faults the environment has.
 * @throws the only failure, or one error that lists all of them
 */
export async function checkConfiguration(
  wanted: ReadonlySet<Role>,
  further?: (config: Config) => readonly Check[],
): Promise<CheckedConfiguration> {
  const { config, faults } = readConfig(undefined, { serving: true })
  let channels: readonly Channel[] | undefined
  const warnings: string[] = []
  const found = await runChecks([
    async () => {
      if (faults.length > 0) throw new ConfigError(faults)
    },
    async () => {
      channels = await requireConfiguration(config, wanted, (what) => warnings.push(what))
      if (channels !== undefined)
        await (await import('./upstreams.ts')).requirePricesOf(config, channels)
    },
    () => checkDataDir(config.dataDir),
    ...(further?.(config) ?? [
      async () => {
        const { external, markerSecret } = config
        if (external !== undefined && markerSecret !== undefined) requireLongSecret(markerSecret)
      },
    ]),
  ])
  return { channels, warnings: [...warnings, ...found] }
}

/** Without a port nothing could watch a process that serves no callers. @throws ConfigError */
function requireOperationsPort(config: Config, wanted: ReadonlySet<Role>): void {
  if (config.external === undefined || wanted.has('api') || config.operationsPort !== undefined)
    return
  throw new ConfigError([
    `OPERATIONS_PORT must be set for a process without the role api: it is the only port of the role ${[...wanted].join(', ')}, for /healthz, /readyz and /metrics`,
  ])
}

async function warningsOf({
  external,
  trustedProxies,
  shutdownDelayMs,
}: Config): Promise<readonly string[]> {
  return [
    ...(external === undefined ? [] : (await import('./store-urls.ts')).storeUrlWarnings(external)),
    ...(trustedProxies.length > 0 && shutdownDelayMs === 0
      ? [
          'SHUTDOWN_DELAY_MS is 0 behind the proxies of TRUSTED_PROXIES: a restart fails requests on connections that they keep',
        ]
      : []),
  ]
}

/**
 * Runs checks at once, and returns their warnings.
 * @throws the only failure, or one error that lists all of them
 */
export async function runChecks(checks: readonly Check[]): Promise<readonly string[]> {
  const ended = await Promise.allSettled(checks.map((check) => check()))
  const failures = ended.flatMap((one): unknown[] =>
    one.status === 'rejected' ? [one.reason] : [],
  )
  const [first, ...others] = failures
  if (others.length > 0) throw await listed(failures)
  if (first !== undefined) throw first
  return ended.flatMap((one) => (one.status === 'fulfilled' ? (one.value ?? []) : []))
}

/** Several failures as one; its exit code is that of a wrong configuration where there is one among them. */
async function listed(failures: readonly unknown[]): Promise<Error> {
  const { ChannelFileError } = await import('../app/channels/load.ts')
  const defect = failures.find((failure) => !isForOperators(failure))
  if (defect instanceof Error) return defect
  const words = failures.flatMap((failure): readonly string[] => {
    if (failure instanceof ConfigError) return failure.faults
    if (failure instanceof ChannelFileError)
      return failure.faults.map((fault) => `CHANNELS_FILE: ${fault}`)
    if (failure instanceof StoreFaultsError) return failure.faults
    return [messageOf(failure)]
  })
  const isOfStores = failures.every((failure) => {
    const code = exitCodeOf(failure)
    return code === exitCodes.failed || code === exitCodes.denied || code === exitCodes.startAgain
  })
  if (!isOfStores) return new ConfigError(words)
  const cause = failures.find((failure) => exitCodeOf(failure) === exitCodes.denied) ?? failures[0]
  return new StoreFaultsError(words, cause)
}

/** Faults of stores alone; its cause has the exit code. */
class StoreFaultsError extends CommandError {
  readonly faults: readonly string[]

  constructor(faults: readonly string[], cause: unknown) {
    super(
      `the stores have ${faults.length} fault(s):\n${faults.map((f) => `  - ${f}`).join('\n')}`,
      {
        cause,
      },
    )
    this.faults = faults
  }
}
