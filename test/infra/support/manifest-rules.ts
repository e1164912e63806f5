import product from '../../../package.json' with { type: 'json' }
import { exitCodes } from '../../../src/cli/exit-codes.ts'
import { listOf } from '../../../src/kernel/variables.ts'
import { variables } from '../../../src/variables.ts'
import { type Environment, environmentFaults, isPinned, stopsWithinMs } from './deployed.ts'

/** Rules for the manifests of `infra/k8s`, beyond what their types say. */

type Labels = Readonly<Record<string, string>>

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string }
}

interface Container {
  readonly image: string
  readonly args: readonly string[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly resources?: {
    readonly requests?: { readonly cpu?: string }
    readonly limits?: { readonly memory?: string }
  }
  readonly securityContext?: {
    readonly readOnlyRootFilesystem?: boolean
    readonly allowPrivilegeEscalation?: boolean
    readonly capabilities?: { readonly drop?: readonly string[] }
  }
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}

interface Pod {
  readonly automountServiceAccountToken?: boolean
  readonly enableServiceLinks?: boolean
  readonly terminationGracePeriodSeconds?: number
  readonly securityContext?: {
    readonly runAsNonRoot?: boolean
    readonly seccompProfile?: { readonly type: string }
  }
  readonly containers: readonly Container[]
  readonly volumes?: readonly { readonly name: string; readonly persistentVolumeClaim?: object }[]
}

/** The members of a manifest that a rule reads, of whatever kind it is. */
export interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name?: string; readonly generateName?: string }
  readonly data?: Environment
  readonly spec?: {
    readonly template?: { readonly metadata: { readonly labels: Labels }; readonly spec: Pod }
    readonly persistentVolumeClaimRetentionPolicy?: Readonly<
      Record<'whenScaled' | 'whenDeleted', string>
    >
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[]
    readonly podFailurePolicy?: {
      readonly rules: readonly { readonly onExitCodes: { readonly values: readonly number[] } }[]
    }
    readonly maxUnavailable?: number
    readonly selector?: Labels & { readonly matchLabels?: Labels }
    readonly podSelector?: { readonly matchLabels?: Labels }
    readonly egress?: readonly { readonly to?: readonly { readonly ipBlock?: AddressBlock }[] }[]
  }
}

interface AddressBlock {
  readonly cidr: string
  readonly except?: readonly string[]
}

/** Every fault of the manifests of an installation, each with the kind and the name of its manifest. */
export function manifestFaults(all: readonly Manifest[]): readonly string[] {
  const configured: Environment = Object.assign({}, ...all.map(({ data }) => data))
  return all.flatMap((manifest) => {
    const { kind, metadata } = manifest
    const faults = [
      ...(manifest.data === undefined ? [] : configurationFaults(manifest.data)),
      ...podFaults(manifest, configured),
      ...spoolFaults(manifest),
      ...selectionFaults(manifest, all),
      ...reachFaults(manifest),
    ]
    return faults.map((fault) => `${kind} ${metadata.name ?? metadata.generateName}: ${fault}`)
  })
}

/** Variables that the secret of an installation has. */
const secrets = {
  EVENTSTORE_URL: 'esdb+discover://tollgate:password@eventstore:2113',
  DATABASE_URL: 'postgres://tollgate:password@postgres/tollgate',
  MARKER_SECRET: 'a marker secret of the tests alone',
}

function configurationFaults(data: Environment): readonly string[] {
  const secret = listOf(variables).filter(({ secret }) => secret)
  return [
    ...environmentFaults({ ...secrets, ...data }),
    ...secret.filter(({ name }) => name in data).map(({ name }) => `${name} is a secret`),
  ]
}

function podFaults({ kind, spec }: Manifest, configured: Environment): readonly string[] {
  const pod = spec?.template?.spec
  if (pod === undefined) return []
  const faults: string[] = []
  if (pod.securityContext?.runAsNonRoot !== true) faults.push('may run as root')
  if (pod.securityContext?.seccompProfile?.type !== 'RuntimeDefault')
    faults.push('may make any system call')
  if (pod.automountServiceAccountToken !== false) faults.push('gets a token of the cluster')
  if (pod.enableServiceLinks !== false) faults.push('gets variables of other services')
  const isJob = kind === 'Job'
  if (!isJob && (pod.terminationGracePeriodSeconds ?? 30) * 1_000 <= stopsWithinMs(configured))
    faults.push('is killed before it has stopped')
  const { startAgain, usage, newer, denied, refused } = exitCodes
  const final = spec?.podFailurePolicy?.rules.flatMap(({ onExitCodes }) => onExitCodes.values) ?? []
  if (final.includes(startAgain)) faults.push('is not tried again once the stores are back')
  if (isJob && [usage, newer, denied, refused].some((code) => !final.includes(code)))
    faults.push('is tried again although that is useless')
  for (const container of pod.containers) {
    faults.push(...containerFaults(container))
    if (!isJob) faults.push(...probeFaults(container))
  }
  return faults
}

const MIB_NEEDED = 512

function mebibytesOf(quantity: string | undefined): number {
  const [, number = '0', unit = ''] = /^(\d+)(Mi|Gi)$/.exec(quantity ?? '') ?? []
  return Number(number) * (unit === 'Gi' ? 1024 : 1)
}

function containerFaults(container: Container): readonly string[] {
  const { image, resources, securityContext: rights, volumeMounts = [] } = container
  const faults: string[] = []
  if (!isPinned(image)) faults.push(`${image} is named without a version`)
  else if (image !== `tollgate:${product.version}`) faults.push(`${image} is another version`)
  if (rights?.readOnlyRootFilesystem !== true) faults.push('its root can be written to')
  if (rights?.allowPrivilegeEscalation !== false) faults.push('may gain rights')
  if (!rights?.capabilities?.drop?.includes('ALL')) faults.push('keeps capabilities')
  if (mebibytesOf(resources?.limits?.memory) < MIB_NEEDED)
    faults.push(`has less memory than ${MIB_NEEDED} MiB`)
  if (resources?.requests?.cpu === undefined) faults.push('names no processor time')
  if (!volumeMounts.some(({ mountPath }) => mountPath === '/tmp')) faults.push('has no /tmp')
  return faults
}

/** A start that waits for a store, and a process that has lost one, are alive and not ready. */
const probed = { startupProbe: '/healthz', livenessProbe: '/healthz', readinessProbe: '/readyz' }
const OPERATIONS_PORT = 9090

function probeFaults(container: Container): readonly string[] {
  const port = container.ports?.find(({ name }) => name === 'operations')?.containerPort
  const faults =
    port === OPERATIONS_PORT ? [] : [`port operations is ${port}, not ${OPERATIONS_PORT}`]
  for (const name of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) {
    const asked = container[name]?.httpGet
    if (asked === undefined) faults.push(`lacks a ${name}`)
    else if (asked.path !== probed[name] || asked.port !== 'operations')
      faults.push(`${name} does not ask for ${probed[name]} of the operations port`)
  }
  return faults
}

const DATA = '/var/lib/tollgate'

function spoolFaults({ spec }: Manifest): readonly string[] {
  const [container] = spec?.template?.spec.containers ?? []
  if (container === undefined) return []
  const data = container.volumeMounts?.find(({ mountPath }) => mountPath === DATA)?.name
  const faults: string[] = []
  if (container.args.includes('api')) {
    const { whenScaled, whenDeleted } = spec?.persistentVolumeClaimRetentionPolicy ?? {}
    if (!spec?.volumeClaimTemplates?.some(({ metadata }) => metadata.name === data))
      faults.push('has no volume for its spool')
    if (whenScaled !== 'Retain') faults.push('loses its spool when it is scaled down')
    if (whenDeleted !== 'Retain') faults.push('loses its spool when it is deleted')
  } else if (container.args[0] === 'serve' && data === undefined)
    faults.push(`cannot write to ${DATA}`)
  const volume = spec?.template?.spec.volumes?.find(({ name }) => name === data)
  if (container.args.includes('drain') && volume?.persistentVolumeClaim === undefined)
    faults.push('drains no volume')
  return faults
}

/** A selector must select at least one process. */
function selectionFaults({ kind, spec }: Manifest, all: readonly Manifest[]): readonly string[] {
  if (kind === 'PodDisruptionBudget' && spec?.maxUnavailable !== 1)
    return ['names no maxUnavailable of 1: a node with a process could never be emptied']
  const selector = spec?.podSelector ?? spec?.selector
  if (selector === undefined) return []
  const wanted = Object.entries(kind === 'Service' ? selector : (selector.matchLabels ?? {}))
  const labels = all.map(({ spec }): Labels => spec?.template?.metadata.labels ?? {})
  return labels.some((own) => wanted.every(([name, value]) => own[name] === value))
    ? []
    : ['selects no process']
}

/** Addresses of a cluster and of its machines, which no URL of a caller may lead to. */
const internal = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
]

function reachFaults({ spec }: Manifest): readonly string[] {
  const blocks = (spec?.egress ?? []).flatMap(({ to = [] }) =>
    to.flatMap((one) => one.ipBlock ?? []),
  )
  return blocks.flatMap(({ except = [] }) =>
    internal.filter((range) => !except.includes(range)).map((range) => `reaches ${range}`),
  )
}
