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
