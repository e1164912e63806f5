import t from 'tap'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { append } from '../../app/audit/support/audited.ts'
import { sharedStack } from '../../helpers/stack.ts'
import { Recorder } from '../../projections/support/history.ts'
import {
  assetId,
  groupId,
  recordAsset,
  recordGroup,
  recordVerification,
  verificationId,
} from '../../projections/support/library.ts'
import { environmentOf, printedEvents, tollgate, typesOf } from '../support/commands.ts'

const stack = await sharedStack(t)
const { log } = stack.gateway
const env = environmentOf(stack)
const { tenantId } = stack.demo
const person = { tenantId, groupType: 'LivenessFace', group: 1 } as const

/** As they were led to by a request. */
const by = (requestId: string, events: readonly RecordedEvent[]): readonly RecordedEvent[] =>
  events.map((event) => ({ ...event, metadata: { ...event.metadata, correlationId: requestId } }))

const recorder = new Recorder()
const [accepted, ...later] = recordAsset(
  recorder,
  { ...person, n: 5, name: 'hero' },
  ...(['created', 'accepted', 'activated', 'used', 'updated', 'withdrawn', 'deleted'] as const),
)
await append(log, [
  ...by('req_verify', recordVerification(recorder, { ...person, n: 1 }, 'started', 'confirmed')),
  ...by('req_result', recordGroup(recorder, { ...person, n: 1 }, 'created', 'accepted')),
  ...by('req_create', accepted ? [accepted] : []),
  ...by('policy-assets', later.slice(0, 2)),
  ...by('req_task', later.slice(2, 3)),
  ...by('req_delete', later.slice(3)),
  ...recordAsset(recorder, { n: 6, tenantId: stack.other.tenantId }, 'created', 'refused'),
])
await stack.caughtUp()

const replay = (...args: readonly string[]) => tollgate(['replay', ...args], env)

const ofAsset = [
  'AssetCreated',
  'AssetAccepted',
  'AssetActivated',
  'AssetUsed',
  'AssetUpdated',
  'AssetWithdrawn',
  'AssetDeleted',
]

t.test('the events of an asset by its id, its native id or its request id', async (t) => {
  const whole = await replay(assetId(5), '--json')
  t.equal(whole.code, 0)
  t.same(typesOf(whole.stdout), ofAsset)
  for (const args of [['native-asset-5'], ['req_create'], ['--asset', assetId(5)]])
    t.equal((await replay(...args, '--json')).stdout, whole.stdout, args.join(' '))
  t.same(typesOf((await replay('req_task', '--json')).stdout), ['AssetUsed'])
})

t.test('the events of a group by either id, and of a verification by its hash', async (t) => {
  for (const id of [groupId(1), 'native-group-1', 'req_result'])
    t.same(typesOf((await replay('--asset', id, '--json')).stdout), [
      'AssetGroupCreated',
      'AssetGroupAccepted',
    ])
  for (const id of [verificationId(1), 'req_verify'])
    t.same(typesOf((await replay(id, '--json')).stdout), [
      'VerificationStarted',
      'VerificationConfirmed',
    ])
})

t.test('the table shows the life of an asset, and that it costs nothing', async (t) => {
  const { stdout } = await replay(assetId(5))
  const [subject, head, ...lines] = stdout.trimEnd().split('\n')
  t.equal(subject, `${assetId(5)} of ${tenantId}`)
  t.match(head, /^TIME \(UTC\) +AFTER +STEP +MONEY +DETAIL$/)
  t.match(lines, [
    new RegExp(`AssetCreated +Image hero, in ${groupId(1)}$`),
    /AssetAccepted +native-asset-5$/,
    /AssetActivated$/,
    /AssetUsed +by req_use_5$/,
    /AssetUpdated +renamed 5$/,
    /AssetWithdrawn$/,
    /AssetDeleted$/,
    /^7 events in .*, nothing to pay$/,
  ])
})

t.test('--from-log prints the same events while Postgres is away', async (t) => {
  const away = { ...env, DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' }
  for (const args of [
    [assetId(5)],
    ['native-asset-5'],
    ['req_create'],
    ['req_task'],
    ['req_delete'],
    ['--asset', groupId(1)],
    ['--asset', 'native-group-1'],
    [verificationId(1)],
    ['--asset', 'req_verify', '--json'],
    [assetId(5), '--tenant', tenantId],
    ['--tenant', tenantId, '--json'],
  ]) {
    const read = await tollgate(['replay', '--from-log', ...args], away)
    t.match(read, { code: 0, stderr: '' }, args.join(' '))
    const expected = (await replay(...args)).stdout
    // The timeline does not keep the order of members.
    if (args.includes('--json'))
      t.same(printedEvents(read.stdout), printedEvents(expected), args.join(' '))
    else t.equal(read.stdout, expected, args.join(' '))
  }
})

t.test('one line of reason for unknown assets, status 1, or 2 for wrong arguments', async (t) => {
  for (const source of [[], ['--from-log']])
    for (const [args, why, code = 1] of [
      [[assetId(7)], /nothing was found for asset-/],
      [[assetId(6), '--tenant', tenantId], /nothing was found for asset-/],
      [['--asset', tenantId], /nothing was found for tenant_/],
      [['--asset', assetId(5), 'req_task'], /--asset cannot be combined/, 2],
      [['--asset', assetId(5), '--as-of', '5'], /--asset cannot be combined/, 2],
      [[assetId(5), '--as-of', '5'], /needs a task or a tenant/],
      [['--asset', assetId(5), '--to', '2000-01-01'], /no events match/],
    ] as readonly (readonly [readonly string[], RegExp, number?])[]) {
      const ended = await replay(...source, ...args)
      t.equal(ended.code, code, args.join(' '))
      t.match(ended.stderr, why)
    }
})

t.test('an audit of a gateway that has a library is clean', async (t) => {
  const { code, stdout } = await tollgate(['audit'], env)
  t.equal(code, 0, stdout)
  t.match(stdout, /, 2 assets and \d+ timeline events compared/)
})
