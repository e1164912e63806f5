import t from 'tap'
import { restOf } from '../../../../src/families/kit/http/refusals.ts'

const rest = (remaining: string, reset: string) =>
  restOf({ 'x-ratelimit-remaining-requests': remaining, 'x-ratelimit-reset-requests': reset })

t.test('only an exhausted limit asks for a rest, until its reset', async (t) => {
  t.equal(rest('0', '12ms'), 12)
  t.equal(rest('0', '1.5s'), 1_500)
  t.equal(rest('0', '0m30s'), 30_000)
  t.equal(rest('0', '6m0s'), 60_000, 'never longer than a minute')
  t.equal(rest('1', '6m0s'), undefined)
  t.equal(restOf({}), undefined)
})

t.test('the longer reset of both limits counts; nonsense does not', async (t) => {
  t.equal(
    restOf({
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '2s',
    }),
    2_000,
  )
  for (const reset of ['', 'soon', '1s later', '-1s', '5']) t.equal(rest('0', reset), undefined)
})

t.test('a wire names its limits, whose resets may be times', async (t) => {
  const limits = [
    ['wire-requests-remaining', 'wire-requests-reset'],
    ['wire-input-tokens-remaining', 'wire-input-tokens-reset'],
  ] as const
  const now = Date.parse('2026-11-30T09:00:00Z')
  const of = (headers: Readonly<Record<string, string>>) => restOf(headers, { limits }, now)
  const used = { 'wire-requests-remaining': '0', 'wire-requests-reset': '2026-11-30T09:00:07Z' }
  t.equal(of(used), 7_000)
  t.equal(of({ ...used, 'wire-requests-remaining': '1' }), undefined)
  t.equal(
    of({
      ...used,
      'wire-input-tokens-remaining': '0',
      'wire-input-tokens-reset': '2026-11-30T10:00:20.5+01:00',
    }),
    20_500,
  )
  t.equal(
    of({ ...used, 'wire-requests-reset': '2026-11-30T10:00:00Z' }),
    60_000,
    'a minute at most',
  )
  t.equal(of({ ...used, 'wire-requests-reset': '2026-11-30T08:59:00Z' }), 0, 'it is full again')
  t.equal(of({ ...used, 'wire-requests-reset': '3s' }), 3_000)
  for (const reset of ['', '2026-11-30T09:00:07', '2026-02-30T09:00:07Z', 'soon'])
    t.equal(of({ ...used, 'wire-requests-reset': reset }), undefined, reset)
  t.equal(
    of({ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1s' }),
    undefined,
  )
})
