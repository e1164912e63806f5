import t from 'tap'
import {
  ownVerification,
  verificationDecider,
  type VerificationCommand,
  type VerificationState,
} from '../../../src/domain/verification/decider.ts'
import {
  verificationStream,
  type VerificationEventData,
} from '../../../src/domain/verification/events.ts'

const at = '2026-01-02T03:05:00.000Z'
const verification = {
  verificationId: 'v1',
  tenantId: 'tenant_1',
  userId: 'user_1',
  tokenId: 'token_1',
  requestId: 'req_0',
  region: 'domestic',
  projectName: 'default',
  channelId: 'video-a-1',
  groupId: 'group-01JD0000000000000000000002',
  startedAt: '2026-01-02T03:04:05.000Z',
  expiresAt: '2026-01-02T03:34:05.000Z',
} as const satisfies VerificationEventData<'VerificationStarted'>

const start: VerificationCommand = { kind: 'start', verification }
const confirm: VerificationCommand = { kind: 'confirm', nativeGroupId: 'n-1', at }
const confirmOther: VerificationCommand = { kind: 'confirm', nativeGroupId: 'n-2', at }
const expire: VerificationCommand = { kind: 'expire', at }

function given(...commands: readonly VerificationCommand[]): VerificationState {
  return commands.reduce<VerificationState>(
    (state, command) =>
      verificationDecider.decide(command, state).reduce(verificationDecider.evolve, state),
    verificationDecider.initial,
  )
}

const decided = (past: readonly VerificationCommand[], command: VerificationCommand) =>
  verificationDecider.decide(command, given(...past))

t.test('a verification is started once, then confirmed with the person’s group', (t) => {
  t.strictSame(decided([], start), [{ type: 'VerificationStarted', data: verification }])
  t.strictSame(decided([start], confirm), [
    {
      type: 'VerificationConfirmed',
      data: {
        verificationId: 'v1',
        groupId: verification.groupId,
        nativeGroupId: 'n-1',
        confirmedAt: at,
      },
    },
  ])
  t.match(given(start, confirm), { phase: 'confirmed', nativeGroupId: 'n-1', confirmedAt: at })
  t.equal(verificationStream('v1'), 'verification-v1')
  t.end()
})

t.test('the first end of a verification is final', (t) => {
  t.strictSame(decided([start], expire), [
    { type: 'VerificationExpired', data: { verificationId: 'v1', expiredAt: at } },
  ])
  for (const past of [
    [start, confirm],
    [start, expire],
  ])
    for (const command of [start, confirm, confirmOther, expire])
      t.strictSame(decided(past, command), [], `${past.at(-1)?.kind}, ${command.kind}`)
  for (const command of [confirm, expire]) t.strictSame(decided([], command), [])
  t.end()
})

t.test('a verification is unknown to other users, and to all once expired', (t) => {
  const own = { tenantId: 'tenant_1', userId: 'user_1' }
  t.equal(ownVerification(given(start), own).phase, 'started')
  t.equal(ownVerification(given(start, confirm), own).phase, 'confirmed')
  const others = [
    { tenantId: 'tenant_1', userId: 'user_2' },
    { tenantId: 'tenant_2', userId: 'user_1' },
  ]
  const none = [
    [given(), own],
    [given(start, expire), own],
    ...others.flatMap((by) => [[given(start), by] as const, [given(start, confirm), by] as const]),
  ] as const
  for (const [state, by] of none)
    t.throws(() => ownVerification(state, by), {
      code: 'verification_not_found',
      message: 'the verification does not exist',
      details: {},
    })
  t.end()
})
