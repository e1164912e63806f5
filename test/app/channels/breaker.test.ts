import t from 'tap'
import {
  type BreakerSettings,
  type BreakerState,
  closedBreaker,
  mayCall,
  onFailure,
  onSuccess,
  onCall,
} from '../../../src/app/channels/breaker.ts'

const settings: BreakerSettings = {
  windowMs: 1_000,
  minimumFailures: 3,
  failureShare: 0.5,
  pauseMs: 100,
  longestPauseMs: 300,
  maxProbes: 1,
  probesToClose: 2,
  brokenAnswerWeight: 0.5,
  maxFailuresOfOne: 3,
}

function failing(times: number, state: BreakerState = closedBreaker(0), atMs = 0): BreakerState {
  return Array.from({ length: times }).reduce<BreakerState>(
    (current) => onFailure(current, atMs, settings),
    state,
  )
}

t.test('a breaker opens at enough failures that are a large enough share', async (t) => {
  t.equal(failing(2).kind, 'closed')
  t.equal(failing(3).kind, 'open')
  let mostlyGood = closedBreaker(0)
  for (let call = 0; call < 10; call += 1) mostlyGood = onSuccess(mostlyGood, 0, settings)
  t.equal(failing(9, mostlyGood).kind, 'closed')
  t.equal(failing(10, mostlyGood).kind, 'open')
})

t.test('failures older than the window are forgotten', async (t) => {
  const early = failing(2)
  t.equal(onFailure(early, 2_500, settings).kind, 'closed')
})

t.test('an open breaker refuses calls during the pause, then admits one probe', async (t) => {
  const open = failing(3)
  t.equal(mayCall(open, 99, settings), false)
  t.equal(mayCall(open, 100, settings), true)
  const probing = onCall(open, 100, settings)
  t.equal(probing.kind, 'half_open')
  t.equal(mayCall(probing, 101, settings), false)
})

t.test('a probe that never reports does not block the breaker for ever', async (t) => {
  const probing = onCall(failing(3), 100, settings)
  t.equal(mayCall(probing, 100 + settings.longestPauseMs, settings), true)
})

t.test('a breaker closes after enough good probes in a row', async (t) => {
  let state = onCall(failing(3), 100, settings)
  state = onSuccess(state, 110, settings)
  t.equal(state.kind, 'half_open')
  state = onSuccess(onCall(state, 111, settings), 120, settings)
  t.equal(state.kind, 'closed')
})

t.test('a failed probe doubles the pause, up to the longest', async (t) => {
  let state = failing(3)
  const pauses: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const atMs = state.kind === 'open' ? state.untilMs : 0
    state = onFailure(onCall(state, atMs, settings), atMs, settings)
    if (state.kind === 'open') pauses.push(state.pauseMs)
  }
  t.same(pauses, [200, 300, 300])
})

t.test('a late answer leaves an open breaker unchanged', async (t) => {
  const open = failing(3)
  t.equal(onSuccess(open, 50, settings), open)
  t.equal(onFailure(open, 50, settings), open)
})
