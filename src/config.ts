import { join } from 'node:path'
import { ENVIRONMENT_FILE, nameFaults, namesInFile } from './environment.ts'
import { type DailyTime, dailyTimeInUtc } from './kernel/daily-time.ts'
import { type Environment, listOf, textOf, type Values, valuesOf } from './kernel/variables.ts'
import { readStorage, type StorageSettings } from './storage/settings.ts'
import { variables } from './variables.ts'

type Read = Values<typeof variables>

/** How the gateway is known to the provider by which people sign in. */
interface ProviderConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly claim: string
  readonly scope: string
  readonly roleClaim: string
  /** Roles of people without an invitation, by the values of that claim; none: all are invited. */
  readonly roles: Read['oidc']['roles']
}

/** The environment, read once and checked at boot: all faults are listed together. */
export interface Config extends Omit<Read, 'stores' | 'storage' | 'auditAt' | 'oidc'> {
  /** Undefined: the embedded event store and Postgres are started under `dataDir`. */
  readonly external: { readonly eventStoreUrl: string; readonly databaseUrl: string } | undefined
  /** Whether this gateway sells simulated results, because it has no provider accounts. */
  readonly sandbox: boolean
  readonly objectStorage: StorageSettings
  /** The URL by which callers reach the gateway, without a slash at the end. */
  readonly publicBaseUrl: string | undefined
  /** The provider by which people sign in to the console by name; undefined: there is none. */
  readonly oidc: ProviderConfig | undefined
  /** When the read models are audited each night; undefined: they are not. */
  readonly auditAt: DailyTime | undefined
}

/** The time of the audit of embedded stores, which no other machine can audit. */
const DEFAULT_AUDIT_AT = dailyTimeInUtc(3, 30)

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
  given?: Environment,
  options: { readonly serving?: boolean } = {},
): Config {
  const { config, faults } = readConfig(given, options)
  if (faults.length > 0) throw new ConfigError(faults)
  return config
}

/** Reads the environment, with its faults; values that have one are not to be used for anything but further checks. */
export function readConfig(
  given?: Environment,
  { serving = false }: { readonly serving?: boolean } = {},
): { readonly config: Config; readonly faults: readonly string[] } {
  const faults: string[] = []
  const env = given ?? process.env
  const inFile = given === undefined ? namesInFile(ENVIRONMENT_FILE) : []
  const { storage: _storage, ...eager } = variables
  const { stores, ...read } = valuesOf(eager, env, faults)
  const embedded = Object.values(stores).every((url) => url === undefined)
  const config: Config = {
    ...read,
    ...readStorage((group) => valuesOf(group, env, faults), { embedded, serving }, faults),
    external: readExternal(stores, faults),
    sandbox: sellsSimulated(read, { embedded, serving }, faults),
    oidc: readProvider(read.oidc, faults),
    auditAt: auditTime(read, embedded),
  }
  if (config.port !== 0 && config.operationsPort === config.port)
    faults.push('OPERATIONS_PORT must be another than PORT')
  if (!embedded && !config.markerSecret)
    faults.push('MARKER_SECRET must be set with EVENTSTORE_URL and DATABASE_URL')
  faults.push(...nameFaults({ env, inFile, allowed: read.allowedNames, ...read }))
  return { config, faults }
}

/** Whether the gateway sells simulated results, not those of the provider accounts in a file. */
function sellsSimulated(
  { sandbox, channelsFile }: Pick<Read, 'sandbox' | 'channelsFile'>,
  { embedded, serving }: { readonly embedded: boolean; readonly serving: boolean },
  faults: string[],
): boolean {
  if (channelsFile !== undefined && sandbox)
    faults.push('SANDBOX=on and CHANNELS_FILE exclude each other: set one of them')
  if (serving && !embedded && channelsFile === undefined && !sandbox) faults.push(NO_CHANNELS)
  return channelsFile === undefined && (embedded || sandbox)
}

function readProvider(
  { issuer, clientId, clientSecret, claim, scope, roleClaim, roles }: Read['oidc'],
  faults: string[],
): ProviderConfig | undefined {
  const isUnset = issuer === undefined && clientId === undefined && clientSecret === undefined
  if (isUnset && roles.length > 0) faults.push('OIDC_ROLES needs OIDC_ISSUER')
  if (isUnset) return undefined
  if (!scope.split(/\s+/).includes('openid')) faults.push('OIDC_SCOPE must contain openid')
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    faults.push('set OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET, or none of them')
    return undefined
  }
  return { issuer, clientId, clientSecret, claim, scope, roleClaim, roles }
}

function auditTime({ auditAt }: Pick<Read, 'auditAt'>, embedded: boolean): DailyTime | undefined {
  const at = auditAt ?? (embedded ? DEFAULT_AUDIT_AT : 'off')
  return at === 'off' ? undefined : at
}

function readExternal(
  { eventStoreUrl, databaseUrl }: Read['stores'],
  faults: string[],
): Config['external'] {
  if (!eventStoreUrl && !databaseUrl) return undefined
  if (!eventStoreUrl || !databaseUrl) {
    faults.push('set both EVENTSTORE_URL and DATABASE_URL, or neither for the embedded stores')
    return undefined
  }
  const isLog = /^esdb(\+discover)?:\/\//.test(eventStoreUrl)
  const isPostgres = /^postgres(ql)?:\/\//.test(databaseUrl)
  if (!isLog) faults.push('EVENTSTORE_URL must start with esdb:// or esdb+discover://')
  if (!isPostgres) faults.push('DATABASE_URL must start with postgres:// or postgresql://')
  return isLog && isPostgres ? { eventStoreUrl, databaseUrl } : undefined
}

/** The effective values for people to read, secrets masked. */
export function describeConfig(env: Environment = process.env): Readonly<Record<string, string>> {
  return Object.fromEntries(
    listOf(variables).map((variable) => {
      const value = textOf(variable, env)
      return [variable.name, variable.secret && value !== '' ? '(set, hidden)' : value]
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
  readonly lineFiles: string
  /** The state of nightly audits; `tollgate audit --state` takes it, too. */
  readonly audit: string
} {
  return {
    demo: join(dataDir, 'demo.json'),
    runtime: join(dataDir, 'runtime.json'),
    markerSecret: join(dataDir, 'marker.secret'),
    spool: join(dataDir, 'spool'),
    objects: join(dataDir, 'objects'),
    lineFiles: join(dataDir, 'line-files'),
    audit: join(dataDir, 'audit.json'),
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

/** The name by which files of charges know the gateway: the host that callers use, where it is known. */
export function issuerName({ publicBaseUrl }: Pick<Config, 'publicBaseUrl'>): string {
  return publicBaseUrl === undefined ? 'tollgate' : new URL(publicBaseUrl).host
}

/**
 * The host that signs statements; undefined where external stores have no `PUBLIC_BASE_URL`, since a key is bound to
 * the name of its gateway. Embedded stores sign as `localhost`: for a demonstration.
 */
export function signingHost(
  config: Pick<Config, 'publicBaseUrl' | 'external'>,
): string | undefined {
  if (config.publicBaseUrl !== undefined) return issuerName(config)
  return config.external === undefined ? 'localhost' : undefined
}
