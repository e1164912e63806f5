import t from 'tap'
import { AccountRefusals } from '../../../src/app/channels/health.ts'
import { ProviderError } from '../../../src/app/ports/provider.ts'

t.test('a refused account is shown and logged until it works, or for ten minutes', async (t) => {
  let nowMs = 0
  const said: object[] = []
  const clock = { nowMs: () => nowMs }
  const refusals = new AccountRefusals(clock, { warn: (fields: object) => void said.push(fields) })
  const error = new ProviderError('account', 'ruled_out', 'no', { status: 401, code: 'bad_key' })
  refusals.worked('one', 'text-basic')
  t.same(refusals.shown(), [])
  for (let call = 0; call < 3; call += 1) refusals.refused('one', 'text-basic', error)
  refusals.refused('two', undefined, error)
  t.match(refusals.shown(), [/^one \(text-basic\) is refused with 401: check/, /^two is refused/])
  t.same(
    said,
    ['text-basic', undefined].map((model, at) => ({
      channelId: at === 0 ? 'one' : 'two',
      model,
      status: 401,
      upstreamCode: 'bad_key',
    })),
    'the first of each',
  )
  refusals.worked('one', 'text-other')
  t.equal(refusals.shown().length, 2)
  refusals.worked('one', 'text-basic')
  t.match(refusals.shown(), [/^two/])
  nowMs = 600_001
  t.same(refusals.shown(), [])
})
