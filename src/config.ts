import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import type { Limits } from './app/spending/throttle/limits.ts'
import type { UploadLimits } from './app/files/uploads/quota.ts'
import { MAX_TOKEN_LIMIT } from './domain/token/events.ts'
import { canonicalRange } from './kernel/address-ranges.ts'
import { readTrustedTarget, type TrustedTarget } from './kernel/trusted-targets.ts'
import { readBaseUrl, readStorage, type StorageSettings } from './storage/settings.ts'
import { type Environment, type Reader, readerOf, variables } from './variables.ts'

/**
 * The environment, read once and checked at boot: all faults are listed together. Times are
 * milliseconds, sizes bytes.
 */
export interface Config {
  readonly port: number
  readonly host: string
  /** The port of readiness and metrics; undefined: they are on `port`. */
  readonly operationsPort: number | undefined
  readonly dataDir: string
  /** Undefined: the embedded event store and Postgres are started under `dataDir`. */
  readonly external: { readonly eventStoreUrl: string; readonly databaseUrl: string } | undefined
  readonly namespace: string
  readonly channelsFile: string | undefined
  /** Whether this gateway sells simulated results, because it has no provider accounts. */
  readonly sandbox: boolean
  readonly priceBookFile: string | undefined
  readonly markerSecret: string | undefined
  readonly logLevel: string
  /** How long the gateway still serves requests after readiness has turned to no. */
  readonly shutdownDelayMs: number
  readonly drainTimeoutMs: number
  /** Ranges of proxy addresses (CIDR) whose `X-Forwarded-For` names the caller. */
  readonly trustedProxies: readonly string[]
  /** 401s for unknown tokens to one address. */
  readonly unknownTokensPerMinute: number
  /** Where webhooks may go even if it is private. */
  readonly webhookTargets: readonly TrustedTarget[]
  /** Callers' connections at once, in all and from one address; undefined: from the limit on open files. */
  readonly connections: Readonly<Record<'all' | 'perAddress', number | undefined>>
  readonly databasePoolSize: number
  /** The share of those that one token may hold: more than 0, at most 1. */
  readonly databaseTokenShare: number
  /** The connections for finance and support: they and callers never wait for each other. */
  readonly queries: Readonly<Record<'poolSize' | 'timeoutMs' | 'requestsPerMinute', number>>
  readonly sandboxTimeScale: number
  readonly pollScale: number
  readonly pollRequestsPerSecond: number
  /** Requests of one model token about itself, and repeated requests, in this process. */
  readonly ownRequestsPerMinute: number
  /** In units of the currency of a call. */
  readonly freeDeliveriesPerHour: number
  /** Requests of one token that are not billed, in this process. */
  readonly freeRequestsPerMinute: number
  /** Requests a minute of one profile token, or of one admin token of a tenant. */
  readonly accountRequestsPerMinute: number
  /** Requests a minute of one address that are refused before their work begins. */
  readonly refusedFormsPerMinute: number
  /** Bytes of the answers that are kept for the keys of one tenant. */
  readonly keptAnswerBytes: number
  /** The limits of tokens that have none themselves. */
  readonly rateLimits: Limits
  readonly objectStorage: StorageSettings
  readonly uploads: UploadLimits & { readonly diskFloorBytes: number }
  /** The URL by which callers reach the gateway, without a slash at the end. */
  readonly publicBaseUrl: string | undefined
  readonly crashAt: string | undefined
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(
      `the configuration has ${faults.length} fault(s):\n${faults.map((f) => `  - ${f}`).join('\n')}`,
    )
    this.faults = faults
  }
}

/** A missing variable must not make a gateway sell simulated results. */
const NO_CHANNELS =
  'CHANNELS_FILE must be set with external stores: write the providers’ accounts down as in ' +
  'infra/channels.example.yaml, or set SANDBOX=on to sell simulated results on purpose'

/**
 * Reads and checks the environment. `serving` requires what only `serve` needs: other commands work
 * on stores and know no provider.
 *
 * @throws ConfigError naming every fault.
 */
export function loadConfig(
  env: Environment = process.env,
  { serving = false }: { readonly serving?: boolean } = {},
): Config {
  const faults: string[] = []
  const reader = readerOf(env, faults)
  const { text, optional, number, oneOf } = reader
  const host = readHost(text('HOST'), faults)
  const namespace = readNamespace(text('EVENTSTORE_NAMESPACE'), faults)
  const embedded = text('EVENTSTORE_URL') === '' && text('DATABASE_URL') === ''
  const channels = readChannelChoice(reader, { embedded, serving }, faults)
  const config: Config = {
    port: number('PORT', 0, 65_535),
    host,
    operationsPort: reader.optionalNumber('OPERATIONS_PORT', 0, 65_535),
    dataDir: resolve(text('DATA_DIR')),
    external: readExternal(optional('EVENTSTORE_URL'), optional('DATABASE_URL'), faults),
    namespace,
    ...channels,
    priceBookFile: optional('PRICEBOOK_FILE'),
    markerSecret: optional('MARKER_SECRET'),
    logLevel: oneOf('LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    shutdownDelayMs: number('SHUTDOWN_DELAY_MS', 0, 600_000),
    drainTimeoutMs: number('DRAIN_TIMEOUT_MS', 0, 600_000),
    trustedProxies: readProxies(text('TRUSTED_PROXIES'), faults),
    unknownTokensPerMinute: number('UNKNOWN_TOKENS_RPM', 1, MAX_TOKEN_LIMIT),
    webhookTargets: readTargets(text('WEBHOOK_TRUSTED_ORIGINS'), faults),
    connections: {
      all: reader.optionalNumber('MAX_CONNECTIONS', 1, 1_000_000),
      perAddress: reader.optionalNumber('MAX_CONNECTIONS_PER_ADDRESS', 1, 1_000_000),
    },
    databasePoolSize: number('DATABASE_POOL_SIZE', 4, 200),
    databaseTokenShare: number('DATABASE_TOKEN_SHARE', 0.01, 1, false),
    queries: {
      poolSize: number('QUERY_POOL_SIZE', 1, 100),
      timeoutMs: number('QUERY_TIMEOUT_MS', 100, 600_000),
      requestsPerMinute: number('QUERY_RATE_LIMIT_RPM', 1, MAX_TOKEN_LIMIT),
    },
    sandboxTimeScale: number('SANDBOX_TIME_SCALE', 0.001, 1_000, false),
    pollScale: number('POLL_SCALE', 0.001, 1_000, false),
    pollRequestsPerSecond: number('POLL_REQUESTS_PER_SECOND', 1, 10_000),
    ownRequestsPerMinute: number('OWN_REQUESTS_RPM', 1, MAX_TOKEN_LIMIT),
    freeDeliveriesPerHour: number('FREE_DELIVERIES_PER_HOUR', 0.01, 1_000_000, false),
    accountRequestsPerMinute: number('ACCOUNT_RATE_LIMIT_RPM', 1, MAX_TOKEN_LIMIT),
    freeRequestsPerMinute: number('FREE_REQUESTS_RPM', 1, MAX_TOKEN_LIMIT),
    refusedFormsPerMinute: number('REFUSED_FORMS_RPM', 1, MAX_TOKEN_LIMIT),
    rateLimits: readRateLimits(reader),
    keptAnswerBytes: number('IDEMPOTENCY_KEPT_BYTES', 0, Number.MAX_SAFE_INTEGER),
    uploads: readUploads(reader),
    objectStorage: readStorage({ text, faults, embedded, serving }),
    publicBaseUrl: readBaseUrl('PUBLIC_BASE_URL', { text, faults }),
    crashAt: optional('TOLLGATE_CRASH_AT'),
  }
  if (config.port !== 0 && config.operationsPort === config.port)
    faults.push('OPERATIONS_PORT must be another than PORT')
  if (config.external && !config.markerSecret)
    faults.push('MARKER_SECRET must be set with EVENTSTORE_URL and DATABASE_URL')
  if (faults.length > 0) throw new ConfigError(faults)
  return config
}

function readHost(host: string, faults: string[]): string {
  if (host !== 'localhost' && isIP(host) === 0)
    faults.push('HOST must be an IP address or localhost')
  // By the name, the framework opens a second server for the other address, without our bounds.
  return host === 'localhost' ? '127.0.0.1' : host
}

function readNamespace(namespace: string, faults: string[]): string {
  // A namespace with the separator inside could be the beginning of another one and read its
  // events.
  if (!/^[A-Za-z][\w-]{0,62}\.$/.test(namespace))
    faults.push(
      'EVENTSTORE_NAMESPACE must start with a letter, then letters, digits, _ - (64 in all), ' +
        'and end with its only dot',
    )
  return namespace
}

/** Whether the gateway sells results of the provider accounts in a file, or simulated ones. */
function readChannelChoice(
  { text, optional }: Reader,
  { embedded, serving }: { readonly embedded: boolean; readonly serving: boolean },
  faults: string[],
): Pick<Config, 'channelsFile' | 'sandbox'> {
  const simulated = text('SANDBOX')
  if (simulated !== '' && simulated !== 'on') faults.push('SANDBOX must be on, or not set')
  const channelsFile = optional('CHANNELS_FILE')
  if (channelsFile !== undefined && simulated === 'on')
    faults.push('SANDBOX=on and CHANNELS_FILE exclude each other: set one of them')
  if (serving && !embedded && channelsFile === undefined && simulated === '')
    faults.push(NO_CHANNELS)
  return {
    channelsFile,
    sandbox: channelsFile === undefined && (embedded || simulated === 'on'),
  }
}

function readRateLimits({ optionalNumber }: Reader): Limits {
  const limit = (name: string) => optionalNumber(name, 1, MAX_TOKEN_LIMIT)
  return {
    requestsPerMinute: limit('RATE_LIMIT_RPM'),
    tokensPerMinute: limit('RATE_LIMIT_TPM'),
    concurrentCalls: limit('RATE_LIMIT_CONCURRENT_CALLS'),
    concurrentTasks: limit('RATE_LIMIT_CONCURRENT_TASKS'),
  }
}

function readUploads({ number }: Reader): Config['uploads'] {
  return {
    maxBytes: number('UPLOAD_QUOTA_BYTES', 0, Number.MAX_SAFE_INTEGER),
    maxFiles: number('UPLOAD_QUOTA_FILES', 0, 1_000_000),
    maxPerDay: number('UPLOADS_PER_DAY', 0, 1_000_000_000),
    lifeMs: number('UPLOAD_LIFE_DAYS', 1, 3_650) * 86_400_000,
    diskFloorBytes: number('UPLOAD_DISK_FLOOR_BYTES', 0, Number.MAX_SAFE_INTEGER),
  }
}

function readProxies(list: string, faults: string[]): readonly string[] {
  const given = list.split(',').flatMap((text) => text.trim() || [])
  for (const text of given)
    if (canonicalRange(text) === undefined)
      faults.push(`TRUSTED_PROXIES: ${text} is no address and no range such as 10.0.0.0/8`)
  return given
}

/** Comma-separated. */
function readTargets(given: string, faults: string[]): readonly TrustedTarget[] {
  const entries = given.split(',').flatMap((one) => one.trim() || [])
  return entries.flatMap((entry) => {
    const target = readTrustedTarget(entry)
    if (target !== undefined) return [target]
    faults.push(
      `WEBHOOK_TRUSTED_ORIGINS: ${entry} is no origin with a path or a tenant, such as http://alerts.internal:8080/low or acme=http://alerts.internal:8080`,
    )
    return []
  })
}

function readExternal(
  eventStoreUrl: string | undefined,
  databaseUrl: string | undefined,
  faults: string[],
): Config['external'] {
  if (!eventStoreUrl && !databaseUrl) return undefined
  if (!eventStoreUrl || !databaseUrl) {
    faults.push('set both EVENTSTORE_URL and DATABASE_URL, or neither for the embedded stores')
    return undefined
  }
  if (!/^esdb(\+discover)?:\/\//.test(eventStoreUrl))
    faults.push('EVENTSTORE_URL must start with esdb:// or esdb+discover://')
  if (!/^postgres(ql)?:\/\//.test(databaseUrl))
    faults.push('DATABASE_URL must start with postgres:// or postgresql://')
  return { eventStoreUrl, databaseUrl }
}

/** The effective values for people to read, secrets masked. */
export function describeConfig(env: Environment = process.env): Readonly<Record<string, string>> {
  return Object.fromEntries(
    variables.map(({ name, fallback, secret }) => {
      const value = env[name]?.trim() || fallback
      return [name, secret && value !== '' ? '(set, hidden)' : value]
    }),
  )
}

/** Files under the data directory that more than one command reads. */
export function dataFiles(dataDir: string): {
  readonly demo: string
  readonly runtime: string
  readonly markerSecret: string
  readonly spool: string
  readonly objects: string
} {
  return {
    demo: join(dataDir, 'demo.json'),
    runtime: join(dataDir, 'runtime.json'),
    markerSecret: join(dataDir, 'marker.secret'),
    spool: join(dataDir, 'spool'),
    objects: join(dataDir, 'objects'),
  }
}

/** Sets a variable that child processes inherit, unless the operator has set it. */
export function passOn(name: string, value: string): void {
  process.env[name] ??= value
}

/** The value of a variable that a channel file names; undefined when it is not set. */
export function readVariable(name: string, env: Environment = process.env): string | undefined {
  return env[name]
}
