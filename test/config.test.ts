import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { ConfigError, describeConfig, loadConfig } from '../src/config.ts'
import { listOf } from '../src/kernel/variables.ts'
import { variables } from '../src/variables.ts'

t.test('an empty environment gives the embedded default', (t) => {
  const config = loadConfig({})
  t.equal(config.external, undefined)
  t.equal(config.port, 8080)
  t.equal(config.host, '127.0.0.1')
  t.end()
})

t.test('localhost is one address, so that one server has all bounds', (t) => {
  t.equal(loadConfig({ HOST: 'localhost' }).host, '127.0.0.1')
  t.end()
})

t.test('all faults are listed at once, naming each variable', (t) => {
  const bad = {
    PORT: '70000',
    HOST: 'nowhere',
    LOG_LEVEL: 'loud',
    EVENTSTORE_URL: 'esdb://localhost:2113',
    POLL_SCALE: 'fast',
    EVENTSTORE_NAMESPACE: '9 lives',
    RATE_LIMIT_RPM: '0',
    RATE_LIMIT_TPM: 'many',
    TRUSTED_PROXIES: '10.0.0.0/8, everybody',
    OPERATIONS_HOSTS: 'gateway, http://gateway',
  }
  t.throws(() => loadConfig(bad), ConfigError)
  try {
    loadConfig(bad)
  } catch (error) {
    const text = (error as ConfigError).faults.join('\n')
    for (const name of [
      'PORT',
      'HOST',
      'LOG_LEVEL',
      'DATABASE_URL',
      'POLL_SCALE',
      'EVENTSTORE_NAMESPACE',
      'RATE_LIMIT_RPM',
      'RATE_LIMIT_TPM',
      'TRUSTED_PROXIES: everybody',
      'OPERATIONS_HOSTS: http://gateway ',
    ])
      t.match(text, name)
  }
  t.end()
})

t.test('a provider of sign-ins is given whole, by https, or not at all', (t) => {
  const whole = {
    OIDC_ISSUER: 'https://login.example.com/realm',
    OIDC_CLIENT_ID: 'tollgate',
    OIDC_CLIENT_SECRET: 'a-secret',
  }
  t.equal(loadConfig({}).oidc, undefined)
  t.match(loadConfig(whole).oidc, { claim: 'email', scope: 'openid email profile' })
  t.notMatch(JSON.stringify(describeConfig(whole)), 'a-secret')
  for (const name of Object.keys(whole))
    t.throws(() => loadConfig({ ...whole, [name]: '' }), /OIDC_ISSUER, OIDC_CLIENT_ID and/, name)
  for (const issuer of [
    'login',
    'http://login.example.com',
    'https://a:b@c',
    'https://a/?b',
    'javascript:1',
  ])
    t.throws(() => loadConfig({ ...whole, OIDC_ISSUER: issuer }), /OIDC_ISSUER must be/, issuer)
  t.throws(() => loadConfig({ ...whole, OIDC_SCOPE: 'email' }), /OIDC_SCOPE must contain openid/)
  const rolesOf = (roles: string) => loadConfig({ ...whole, OIDC_ROLES: roles }).oidc?.roles
  t.same(rolesOf(''), [], 'no one has a role by claim')
  t.same(rolesOf('CN%3Ddesk%2COU=support:all_users:northwind, ops=operator:all_tenants:home'), [
    {
      value: 'CN=desk,OU',
      role: 'support',
      scope: { level: 'all_users' },
      tenantId: 'northwind',
    },
    { value: 'ops', role: undefined, scope: { level: 'all_tenants' }, tenantId: 'home' },
  ])
  for (const [roles, words] of [
    ['desk', /OIDC_ROLES: desk is no VALUE=ROLE:SCOPE:TENANT/],
    ['=support:all_users:a', /is no VALUE=ROLE/],
    ['%zz=support:all_users:a', /is no VALUE=ROLE/],
    ['desk=boss:all_users:a', /the role is finance, support or operator/],
    ['desk=support:current_user:a', /the scope all_users or all_tenants/],
    ['desk=support:all_users:', /is no VALUE=ROLE/],
    ['ops=operator:all_users:a', /an operator has the scope all_tenants/],
    ['a=support:all_users:a,a=finance:all_users:a', /OIDC_ROLES names a twice/],
  ] as const)
    t.throws(() => rolesOf(roles), words, roles)
  t.throws(() => loadConfig({ OIDC_ROLES: 'a=support:all_users:a' }), /OIDC_ROLES needs OIDC_ISS/)
  t.end()
})

t.test('queries have their own connections, timeout and rate', (t) => {
  t.strictSame(loadConfig({}).queries, { poolSize: 4, timeoutMs: 5_000, requestsPerMinute: 600 })
  t.throws(() => loadConfig({ QUERY_TIMEOUT_MS: '0' }), /QUERY_TIMEOUT_MS/)
  t.end()
})

t.test('the nightly audit is on with embedded stores, and set with external ones', (t) => {
  const at = (env: Readonly<Record<string, string>>) => {
    const { auditAt } = loadConfig(env)
    return auditAt && [auditAt.minuteOfDay, auditAt.zone.secondAt(0).slice(19)]
  }
  const external = {
    EVENTSTORE_URL: 'esdb://localhost:2113',
    DATABASE_URL: 'postgres://localhost/x',
    MARKER_SECRET: 'm'.repeat(32),
  }
  t.strictSame(at({}), [210, '+00:00'])
  t.equal(at({ AUDIT_AT: 'off' }), undefined)
  t.equal(at(external), undefined)
  t.strictSame(at({ ...external, AUDIT_AT: '23:05 Asia/Kolkata' }), [1385, '+05:30'])
  for (const [given, fault] of [
    [
      '3:30',
      /AUDIT_AT: must be a time of day such as 03:30 in UTC, or 03:30 Europe\/Berlin; or off/,
    ],
    ['24:00', /AUDIT_AT: must be a time/],
    ['03:30+01:00', /AUDIT_AT: must be a time/],
    ['03:30 CET', /AUDIT_AT: CET must be UTC or a zone .* did you mean `Europe\/Berlin`\?/],
  ] as const)
    t.throws(() => loadConfig({ AUDIT_AT: given }), fault, given)
  t.end()
})

t.test('limits are undefined unless they are set', (t) => {
  const none = {
    requestsPerMinute: undefined,
    tokensPerMinute: undefined,
    concurrentCalls: undefined,
    concurrentTasks: undefined,
  }
  t.strictSame(loadConfig({ RATE_LIMIT_RPM: ' ' }).rateLimits, none)
  const env = { RATE_LIMIT_RPM: '60', RATE_LIMIT_CONCURRENT_TASKS: '5' }
  t.strictSame(loadConfig(env).rateLimits, { ...none, requestsPerMinute: 60, concurrentTasks: 5 })
  t.end()
})

t.test('external stores need their own schemes and a marker secret', (t) => {
  const urls = { EVENTSTORE_URL: 'http://a', DATABASE_URL: 'mysql://b' }
  t.throws(() => loadConfig(urls), /esdb:\/\/[\s\S]*postgres:\/\/[\s\S]*MARKER_SECRET/)
  const config = loadConfig({
    EVENTSTORE_URL: 'esdb://a:2113?tls=false',
    DATABASE_URL: 'postgres://b/tollgate',
    MARKER_SECRET: 'k',
  })
  t.same(config.external, {
    eventStoreUrl: 'esdb://a:2113?tls=false',
    databaseUrl: 'postgres://b/tollgate',
  })
  t.end()
})

const EXTERNAL = {
  EVENTSTORE_URL: 'esdb://a:2113?tls=false',
  DATABASE_URL: 'postgres://b/tollgate',
  MARKER_SECRET: 'k',
}

t.test('external stores without accounts are refused unless the sandbox is requested', (t) => {
  const serve = (env: Readonly<Record<string, string>>) => loadConfig(env, { serving: true })
  const { EVENTSTORE_URL, DATABASE_URL } = EXTERNAL
  for (const env of [EXTERNAL, { EVENTSTORE_URL }, { DATABASE_URL, SANDBOX: ' ' }])
    t.throws(
      () => serve(env),
      /CHANNELS_FILE must be set[^\n]*channels\.example\.yaml[^\n]*SANDBOX=on/,
    )
  const many = { EVENTSTORE_URL: 'http://a', DATABASE_URL, PORT: 'x' }
  t.throws(() => serve(many), /4 fault\(s\)[\s\S]*CHANNELS_FILE/, 'with every other fault')
  t.equal(serve({ ...EXTERNAL, SANDBOX: 'on' }).sandbox, true)
  t.equal(serve({ ...EXTERNAL, CHANNELS_FILE: 'c.yaml' }).sandbox, false)
  t.equal(loadConfig(EXTERNAL).sandbox, false, 'a command beside serve needs no accounts')
  t.equal(serve({}).sandbox, true, 'the embedded default')
  t.equal(serve({ CHANNELS_FILE: 'c.yaml' }).sandbox, false)
  t.throws(() => serve({ SANDBOX: 'yes' }), /SANDBOX must be on/)
  t.throws(() => serve({ SANDBOX: 'on', CHANNELS_FILE: 'c.yaml' }), /exclude each other/)
  t.end()
})

t.test('media is stored in the configured place', (t) => {
  const serve = (env: Readonly<Record<string, string>>) => loadConfig(env, { serving: true })
  t.same(serve({}).objectStorage, { kind: 'local' }, 'the embedded default')
  const sandboxed = { ...EXTERNAL, SANDBOX: 'on' }
  t.same(serve(sandboxed).objectStorage, { kind: 'none' }, 'nowhere else without being told')
  t.same(serve({ OBJECT_STORAGE: 'none' }).objectStorage, { kind: 'none' })
  const local = { ...sandboxed, OBJECT_STORAGE: 'local' }
  t.throws(() => serve(local), /PUBLIC_BASE_URL must be set/)
  const PUBLIC_BASE_URL = 'https://gateway.example.com/media/'
  t.equal(serve({ ...local, PUBLIC_BASE_URL }).publicBaseUrl, 'https://gateway.example.com/media')
  for (const url of ['gateway.example.com', 'ftp://a', 'https://a/?b', 'https://u@a'])
    t.throws(() => serve({ PUBLIC_BASE_URL: url }), /PUBLIC_BASE_URL must be/, url)
  t.throws(() => serve({ OBJECT_STORAGE: 'disk' }), /OBJECT_STORAGE must be one of none, local, s3/)
  t.throws(
    () => serve({ OBJECT_STORAGE: 's3', S3_BUCKET: 'A', S3_PUBLIC_BASE_URL: 'x' }),
    /S3_ENDPOINT[\s\S]*S3_BUCKET[\s\S]*S3_ACCESS_KEY_ID[\s\S]*S3_SECRET_ACCESS_KEY[\s\S]*S3_PUBLIC_BASE_URL/,
  )
  const s3 = {
    OBJECT_STORAGE: 's3',
    S3_ENDPOINT: 'https://s3.example.com/',
    S3_BUCKET: 'media',
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'hunter2',
  }
  t.same(serve(s3).objectStorage, {
    kind: 's3',
    s3: {
      endpoint: 'https://s3.example.com',
      region: 'us-east-1',
      bucket: 'media',
      accessKeyId: 'id',
      secretAccessKey: 'hunter2',
      publicBaseUrl: undefined,
    },
  })
  t.notMatch(JSON.stringify(describeConfig(s3)), /hunter2/)
  t.end()
})

t.test('the printed configuration hides secrets', (t) => {
  const shown = describeConfig({
    DATABASE_URL: 'postgres://u:hunter2@b/t',
    MARKER_SECRET: 'hunter2',
  })
  t.notMatch(JSON.stringify(shown), /hunter2/)
  t.equal(shown['MARKER_SECRET'], '(set, hidden)')
  t.end()
})

t.test('.env.example has every variable with its default and meaning, and no other', (t) => {
  const path = fileURLToPath(new URL('../.env.example', import.meta.url))
  const expected = listOf(variables)
    .map(({ help, name, fallback = '' }) => `# ${help}\n${name}=${fallback}\n`)
    .join('')
  t.equal(readFileSync(path, 'utf8').split('\n\n').slice(1).join('\n\n'), expected)
  t.end()
})
