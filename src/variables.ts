import { resolve } from 'node:path'
import { type ClaimRole, readClaimRole } from './domain/token/claim-roles.ts'
import { MAX_TOKEN_LIMIT } from './domain/token/events.ts'
import {
  addressRanges,
  dailyTimeOrOff,
  decimal,
  entriesOf,
  type Given,
  hostAddress,
  hostNames,
  issuerUrl,
  names,
  oneOf,
  optional,
  text,
  trustedTargets,
  variable,
  type Variables,
  whole,
} from './kernel/variables.ts'
import { storageVariables } from './storage/settings.ts'

function namespace({ name, text: given, faults }: Given): string {
  // A namespace with the separator inside could be the beginning of another one and read its
  // events.
  if (!/^[A-Za-z][\w-]{0,62}\.$/.test(given))
    faults.push(
      `${name} must start with a letter, then letters, digits, _ - (64 in all), ` +
        'and end with its only dot',
    )
  return given
}

/** Whether it is on. */
function onOrUnset({ name, text: given, faults }: Given): boolean {
  if (given !== '' && given !== 'on') faults.push(`${name} must be on, or not set`)
  return given !== ''
}

/** Roles by the values of a claim; each value has one. */
function claimRoles({ name, text: list, faults }: Given): readonly ClaimRole[] {
  const roles = entriesOf(list).flatMap((entry) => {
    const read = readClaimRole(entry)
    if (typeof read !== 'string') return [read]
    faults.push(`${name}: ${entry} ${read}`)
    return []
  })
  const values = roles.map(({ value }) => value)
  const twice = values.find((value, index) => values.indexOf(value) < index)
  if (twice !== undefined) faults.push(`${name} names ${twice} twice`)
  return roles
}

const tokenLimit = whole(1, MAX_TOKEN_LIMIT)
const bytes = whole(0, Number.MAX_SAFE_INTEGER)

/**
 * Every variable the program reads, by the name that the configuration has for its value; `tollgate
 * config` and `.env.example` show them in this order. Times are milliseconds, sizes bytes.
 */
export const variables = {
  port: variable('PORT', whole(0, 65_535), {
    fallback: '8080',
    help: 'port of the HTTP API; 0 picks a free one',
  }),
  host: variable('HOST', hostAddress, {
    fallback: '127.0.0.1',
    help: 'address to listen on; 0.0.0.0 for all',
  }),
  operationsPort: variable('OPERATIONS_PORT', optional(whole(0, 65_535)), {
    help: 'port of /readyz, /metrics and /healthz, on the same address; required for a process without the role api on external stores; unset: they are on PORT',
  }),
  operationsHosts: variable('OPERATIONS_HOSTS', hostNames, {
    help: 'names by which monitoring asks for /metrics and the operations port, comma-separated; an IP address and localhost always may',
  }),
  console: variable('CONSOLE', oneOf('on', 'off'), {
    fallback: 'on',
    help: 'on: /console shows pages to holders of query and admin tokens',
  }),
  oidc: {
    issuer: variable('OIDC_ISSUER', optional(issuerUrl), {
      help: 'https:// address of the OpenID Connect provider by which people sign in to the console by name; unset: they sign in with tokens alone',
    }),
    clientId: variable('OIDC_CLIENT_ID', optional(text), {
      help: 'name of the gateway at that provider; required with OIDC_ISSUER',
    }),
    clientSecret: variable('OIDC_CLIENT_SECRET', optional(text), {
      help: 'secret of the gateway at that provider, the same on every replica; required with OIDC_ISSUER',
      secret: true,
    }),
    claim: variable('OIDC_CLAIM', text, {
      fallback: 'email',
      help: 'claim that names a person as tollgate token issue --subject does; of email only verified ones count',
    }),
    scope: variable('OIDC_SCOPE', text, {
      fallback: 'openid email profile',
      help: 'scope that the provider is asked for, with blanks between; openid must be in it',
    }),
    roleClaim: variable('OIDC_ROLE_CLAIM', text, {
      fallback: 'groups',
      help: 'claim whose values give people without an invitation the roles of OIDC_ROLES',
    }),
    roles: variable('OIDC_ROLES', claimRoles, {
      help: 'roles by values of that claim, comma-separated VALUE=ROLE:SCOPE:TENANT, the first that fits, such as desk=support:all_users:northwind; ROLE is finance, support or operator, SCOPE all_users or all_tenants; unset: people are invited',
    }),
  },
  dataDir: variable('DATA_DIR', (given) => resolve(given.text), {
    fallback: './data',
    help: 'folder of the embedded stores, demo.json, local objects and the spool; each start closes it to other accounts',
  }),
  stores: {
    eventStoreUrl: variable('EVENTSTORE_URL', optional(text), {
      help: 'esdb:// connection string; unset with DATABASE_URL: embedded',
      secret: true,
    }),
    databaseUrl: variable('DATABASE_URL', optional(text), {
      help: 'postgres:// connection string; unset with EVENTSTORE_URL: embedded',
      secret: true,
    }),
  },
  namespace: variable('EVENTSTORE_NAMESPACE', namespace, {
    fallback: 'tollgate.',
    help: 'prefix of every stream name: letters, digits, _ - and one dot at the end',
  }),
  channelsFile: variable('CHANNELS_FILE', optional(text), {
    help: 'YAML file of upstream accounts; required with external stores, unset with embedded ones: the sandbox',
  }),
  sandbox: variable('SANDBOX', onOrUnset, {
    help: 'on: sell what the sandbox simulates, on external stores too; not with CHANNELS_FILE',
  }),
  priceBookFile: variable('PRICEBOOK_FILE', optional(text), {
    help: 'YAML price book to publish at start; unset: the shipped one',
  }),
  markerSecret: variable('MARKER_SECRET', optional(text), {
    help: 'key of the hashes sent upstream to recognise our tasks, of the response ids and object URLs callers get; required with external stores, at least 32 characters, the same on every replica',
    secret: true,
  }),
  logLevel: variable(
    'LOG_LEVEL',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    {
      fallback: 'info',
      help: 'fatal, error, warn, info, debug, trace or silent',
    },
  ),
  shutdownDelayMs: variable('SHUTDOWN_DELAY_MS', whole(0, 600_000), {
    fallback: '0',
    help: 'on SIGTERM, how long requests are still served while /readyz says no: what a proxy needs to look elsewhere',
  }),
  drainTimeoutMs: variable('DRAIN_TIMEOUT_MS', whole(0, 600_000), {
    fallback: '20000',
    help: 'longest wait for requests in flight, after SHUTDOWN_DELAY_MS',
  }),
  trustedProxies: variable('TRUSTED_PROXIES', addressRanges, {
    help: 'addresses and ranges (CIDR) of the proxies whose X-Forwarded-For says who calls, comma-separated; unset: none is believed',
  }),
  connections: {
    all: variable('MAX_CONNECTIONS', optional(whole(1, 1_000_000)), {
      help: 'connections of callers at once; unset: half of what the limit on open files leaves, at most 10000',
    }),
    perAddress: variable('MAX_CONNECTIONS_PER_ADDRESS', optional(whole(1, 1_000_000)), {
      help: 'connections from one IPv4 address or IPv6 /64 that is not in TRUSTED_PROXIES; unset: a quarter of MAX_CONNECTIONS',
    }),
  },
  unknownTokensPerMinute: variable('UNKNOWN_TOKENS_RPM', tokenLimit, {
    fallback: '60',
    help: 'unknown tokens a minute of one address (of IPv6 a /64) that are answered 401; more are 429 and not looked up',
  }),
  webhookTargets: variable('WEBHOOK_TRUSTED_ORIGINS', trustedTargets, {
    help: 'where webhooks may go though it is not public or not https, comma-separated, each with a path (all below it if it ends with a slash), a tenant, or both, such as acme=http://alerts.internal:8080/low; unset: nowhere',
  }),
  databasePoolSize: variable('DATABASE_POOL_SIZE', whole(4, 200), {
    fallback: '16',
    help: 'Postgres connections for requests and policies',
  }),
  databaseUserShare: variable('DATABASE_USER_SHARE', decimal(0.01, 1), {
    fallback: '0.5',
    help: 'what one user may hold of them, at most 1, and one tenant half of the rest besides; what they ask for beyond that waits',
  }),
  queries: {
    poolSize: variable('QUERY_POOL_SIZE', whole(1, 100), {
      fallback: '4',
      help: 'further Postgres connections, for queries of finance and support alone',
    }),
    timeoutMs: variable('QUERY_TIMEOUT_MS', whole(100, 600_000), {
      fallback: '5000',
      help: 'longest statement of such a query; one that takes longer is refused (422)',
    }),
    requestsPerMinute: variable('QUERY_RATE_LIMIT_RPM', tokenLimit, {
      fallback: '600',
      help: 'such queries a minute of one user, and four times as many of a tenant',
    }),
  },
  accountRequestsPerMinute: variable('ACCOUNT_RATE_LIMIT_RPM', tokenLimit, {
    fallback: '600',
    help: 'requests a minute of the profile and admin tokens of one user, and four times as many of a tenant; operators have no limit',
  }),
  sandboxTimeScale: variable('SANDBOX_TIME_SCALE', decimal(0.001, 1_000), {
    fallback: '1',
    help: 'multiplies the sandbox’s task times',
  }),
  pollScale: variable('POLL_SCALE', decimal(0.001, 1_000), {
    fallback: '1',
    help: 'multiplies every poll interval',
  }),
  pollRequestsPerSecond: variable('POLL_REQUESTS_PER_SECOND', whole(1, 10_000), {
    fallback: '20',
    help: 'most polling requests a second to one channel',
  }),
  rateLimits: {
    requestsPerMinute: variable('RATE_LIMIT_RPM', optional(tokenLimit), {
      help: 'calls and task creations a minute of a token that has no such limit itself; unset: no limit',
    }),
    tokensPerMinute: variable('RATE_LIMIT_TPM', optional(tokenLimit), {
      help: 'text tokens a minute, in and out, of such a token; unset: no limit',
    }),
    concurrentCalls: variable('RATE_LIMIT_CONCURRENT_CALLS', optional(tokenLimit), {
      help: 'synchronous calls under way of such a token; unset: no limit',
    }),
    concurrentTasks: variable('RATE_LIMIT_CONCURRENT_TASKS', optional(tokenLimit), {
      help: 'tasks not ended yet of such a token; unset: no limit',
    }),
  },
  ownRequestsPerMinute: variable('OWN_REQUESTS_RPM', tokenLimit, {
    fallback: '1200',
    help: 'looks, deletions and requests with an Idempotency-Key a minute of the model tokens of one user, and of one tenant four times as many, on each replica',
  }),
  absorbedCostPerHour: variable('ABSORBED_COST_PER_HOUR', decimal(0.01, 1_000_000), {
    fallback: '10',
    help: 'units of currency an hour that failed calls of one user may cost the operator, delivered or not, and of one tenant four times as much, on each replica; then 429',
  }),
  freeRequestsPerMinute: variable('FREE_REQUESTS_RPM', tokenLimit, {
    fallback: '300',
    help: 'uploads, changes of accounts and refused calls a minute of one user beyond those that it is billed for, and of one tenant four times as many, on each replica',
  }),
  refusedFormsPerMinute: variable('REFUSED_FORMS_RPM', tokenLimit, {
    fallback: '1200',
    help: 'requests a minute of one address (of IPv6 a /64) with tokens of one user, or without a known one, that are refused before their work begins; more are 429, on each replica',
  }),
  keptAnswerBytes: variable('IDEMPOTENCY_KEPT_BYTES', bytes, {
    fallback: '4294967296',
    help: 'bytes of answers that are kept for the keys of one tenant; Postgres takes about twice as much',
  }),
  storage: storageVariables,
  uploads: {
    maxBytes: variable('UPLOAD_QUOTA_BYTES', bytes, {
      fallback: '10737418240',
      help: 'bytes of uploads that a tenant keeps at most',
    }),
    maxFiles: variable('UPLOAD_QUOTA_FILES', whole(0, 1_000_000), {
      fallback: '10000',
      help: 'uploads that a tenant keeps at most',
    }),
    maxPerDay: variable('UPLOADS_PER_DAY', whole(0, 1_000_000_000), {
      fallback: '20000',
      help: 'uploads that a tenant begins within a day, deleted ones too',
    }),
    lifeMs: variable('UPLOAD_LIFE_DAYS', (given) => whole(1, 3_650)(given) * 86_400_000, {
      fallback: '30',
      help: 'what an upload lives, from its end on',
    }),
    diskFloorBytes: variable('UPLOAD_DISK_FLOOR_BYTES', bytes, {
      fallback: '1073741824',
      help: 'with local stores or objects: what is not billed and keeps something is refused while DATA_DIR has less free; the spool needs up to 256 MiB',
    }),
  },
  auditAt: variable('AUDIT_AT', optional(dailyTimeOrOff), {
    help: 'time of day of the nightly audit, such as 03:30 in UTC or 03:30 Europe/Berlin; off: none; unset: 03:30 with embedded stores, off with external ones',
  }),
  allowedNames: variable('TOLLGATE_ALLOW_UNKNOWN', names, {
    help: 'names that are let through though they are nearly one of these, or unknown in .env, comma-separated',
  }),
  crashAt: variable('TOLLGATE_CRASH_AT', optional(text), {
    help: 'test only: die with SIGKILL at a named point',
  }),
} satisfies Variables
