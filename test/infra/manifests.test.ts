import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import product from '../../package.json' with { type: 'json' }
import { checkout } from '../helpers/checkout.ts'
import { textOf } from './support/deployed.ts'
import { type Manifest, manifestFaults } from './support/manifest-rules.ts'

/** The manifests for Kubernetes: the compiler checks their members, rules what a member has to say. */

/** Module of kubernetes-types with the type of a kind. */
const typesOf: Readonly<Record<string, string>> = {
  ConfigMap: 'core/v1',
  Deployment: 'apps/v1',
  Job: 'batch/v1',
  NetworkPolicy: 'networking/v1',
  PodDisruptionBudget: 'policy/v1',
  Service: 'core/v1',
  StatefulSet: 'apps/v1',
}

const files = readdirSync(new URL('infra/k8s/', checkout)).filter(
  (name) => name !== 'kustomization.yaml',
)
const texts = new Map(files.map((name) => [name, textOf(`infra/k8s/${name}`)]))

/** @throws for a document that is no YAML */
function manifestsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0]
    return document.toJS() as Manifest
  })
}

const all = [...texts.values()].flatMap(manifestsOf)

/** Errors of the compiler about manifests, each written as a value that has to satisfy the type of its kind. */
async function compilerSays(folder: string, manifests: readonly Manifest[]): Promise<string> {
  const unknown = manifests.filter(({ kind }) => typesOf[kind] === undefined)
  if (unknown.length > 0) return `no type of ${unknown.map(({ kind }) => kind).join(', ')}`
  const imports = Object.entries(typesOf).map(
    ([kind, path]) => `import type { ${kind} } from 'kubernetes-types/${path}.d.ts'`,
  )
  const values = manifests.map(
    (manifest) => `void (${JSON.stringify(manifest, undefined, 1)} satisfies ${manifest.kind})`,
  )
  const path = join(folder, 'manifests.ts')
  await writeFile(path, [...imports, ...values].join('\n'))
  const tsc = fileURLToPath(new URL('node_modules/.bin/tsc', checkout))
  const options =
    '--ignoreConfig --noEmit --strict --skipLibCheck --module nodenext --target es2023'
  return promisify(execFile)(tsc, [...options.split(' '), '--types', '', path]).then(
    () => '',
    ({ stdout }: { readonly stdout: string }) => stdout,
  )
}

t.test('every manifest has the members of its kind, and no other', async (t) => {
  t.ok(all.length >= 12, `${all.length} manifests`)
  t.equal(await compilerSays(t.testdir(), all), '')
  const wrong: readonly (readonly [file: string, was: string, is: string, RegExp])[] = [
    [
      'api.yaml',
      'periodSeconds: 2',
      'periodSecond: 2',
      /"periodSecond"' does not exist in type 'Probe'/,
    ],
    [
      'worker.yaml',
      'replicas: 2',
      "replicas: '2'",
      /Type 'string' is not assignable to type 'number'/,
    ],
    ['worker.yaml', 'kind: Deployment', 'kind: Deploymnt', /no type of Deploymnt/],
  ]
  for (const [file, was, is, says] of wrong) {
    const manifests = manifestsOf(changed(file, was, is))
    t.match(await compilerSays(t.testdir(), manifests), says, is)
  }
})

/** The text of a file with a fault. */
function changed(file: string, was: string, is: string): string {
  const text = texts.get(file) ?? ''
  t.ok(text.includes(was), `${file}: ${was}`)
  return text.replace(was, is)
}

t.test('every manifest follows the rules', (t) => {
  t.same(manifestFaults(all), [])
  t.end()
})

t.test('kustomize applies every file but the jobs, which are created one by one', (t) => {
  const { resources, images } = parse(textOf('infra/k8s/kustomization.yaml')) as {
    readonly resources: readonly string[]
    readonly images: readonly { readonly name: string; readonly newTag: string }[]
  }
  const others = files.filter((name) => !resources.includes(name))
  const kinds = others.flatMap((name) => manifestsOf(texts.get(name) ?? '')).map(({ kind }) => kind)
  t.same(resources.toSorted(), files.filter((name) => !others.includes(name)).toSorted())
  t.same(new Set(kinds), new Set(['Job']))
  t.match(images, [{ name: 'tollgate', newTag: product.version }])
  t.end()
})

t.test('each rule names the manifest that breaks it', (t) => {
  const wrong: readonly (readonly [file: string, was: string, is: string, RegExp])[] = [
    [
      'api.yaml',
      'readOnlyRootFilesystem: true',
      'readOnlyRootFilesystem: false',
      /StatefulSet tollgate-api: its root/,
    ],
    [
      'api.yaml',
      'allowPrivilegeEscalation: false',
      'allowPrivilegeEscalation: true',
      /may gain rights/,
    ],
    ['api.yaml', 'drop: [ALL]', 'drop: [CHOWN]', /keeps capabilities/],
    ['api.yaml', 'runAsNonRoot: true', 'runAsNonRoot: false', /may run as root/],
    ['api.yaml', 'type: RuntimeDefault', 'type: Unconfined', /any system call/],
    [
      'api.yaml',
      'automountServiceAccountToken: false',
      'automountServiceAccountToken: true',
      /token of the cluster/,
    ],
    [
      'api.yaml',
      'enableServiceLinks: false',
      'enableServiceLinks: true',
      /variables of other services/,
    ],
    ['api.yaml', 'image: tollgate:0.1.0', 'image: tollgate', /named without a version/],
    ['api.yaml', 'image: tollgate:0.1.0', 'image: tollgate:latest', /named without a version/],
    [
      'migrate.yaml',
      'image: tollgate:0.1.0',
      'image: tollgate:0.0.9',
      /Job tollgate-migrate-: .* another version/,
    ],
    ['api.yaml', 'startupProbe:', 'lifecycleProbe:', /lacks a startupProbe/],
    [
      'projector.yaml',
      'livenessProbe:',
      'lifecycleProbe:',
      /tollgate-projector: lacks a livenessProbe/,
    ],
    [
      'worker.yaml',
      'path: /readyz, port: operations',
      'path: /readyz, port: http',
      /readinessProbe does not ask/,
    ],
    [
      'worker.yaml',
      'path: /healthz, port: operations',
      'path: /readyz, port: operations',
      /startupProbe does not ask/,
    ],
    [
      'worker.yaml',
      'containerPort: 9090',
      'containerPort: 9091',
      /port operations is 9091, not 9090/,
    ],
    ['api.yaml', 'memory: 2Gi', 'memory: 256Mi', /less memory than/],
    ['api.yaml', 'cpu: ', 'gpu: ', /names no processor time/],
    [
      'api.yaml',
      'terminationGracePeriodSeconds: 75',
      'terminationGracePeriodSeconds: 30',
      /killed before it has stopped/,
    ],
    [
      'api.yaml',
      'whenScaled: Retain',
      'whenScaled: Delete',
      /loses its spool when it is scaled down/,
    ],
    ['api.yaml', 'whenDeleted: Retain', 'whenDeleted: Delete', /loses its spool/],
    [
      'api.yaml',
      '- metadata: { name: data }',
      '- metadata: { name: other }',
      /has no volume for its spool/,
    ],
    [
      'drain.yaml',
      'persistentVolumeClaim: { claimName: data-tollgate-api-3 }',
      'emptyDir: {}',
      /drains no volume/,
    ],
    ['worker.yaml', '{ name: tmp, mountPath: /tmp }', '{ name: tmp, mountPath: /run }', /no \/tmp/],
    [
      'migrate.yaml',
      'values: [2, 76, 77, 78]',
      'values: [2, 76, 77, 78, 75]',
      /is not tried again/,
    ],
    [
      'api.yaml',
      'maxUnavailable: 1',
      'minAvailable: 3',
      /PodDisruptionBudget tollgate-api: .*maxUnavailable/,
    ],
    [
      'configuration.yaml',
      'SHUTDOWN_DELAY_MS',
      'SHUTDOWN_DELAYS_MS',
      /SHUTDOWN_DELAYS_MS is not .* SHUTDOWN_DELAY_MS/,
    ],
    ['configuration.yaml', 'TRUSTED_PROXIES', 'BELIEVED', /unknown variable BELIEVED/],
    ['configuration.yaml', 'CHANNELS_FILE:', 'MARKER_SECRET:', /MARKER_SECRET is a secret/],
    ['network.yaml', '169.254.0.0/16, ', '', /reaches 169\.254\.0\.0\/16/],
    [
      'network.yaml',
      'matchLabels: { app: tollgate, role: api }',
      'matchLabels: { app: gateway, role: api }',
      /selects no process/,
    ],
  ]
  for (const [file, was, is, says] of wrong) {
    const manifests = files.flatMap((name) =>
      manifestsOf(name === file ? changed(file, was, is) : (texts.get(name) ?? '')),
    )
    t.match(manifestFaults(manifests).join('\n'), says, `${file}: ${is}`)
  }
  t.end()
})
