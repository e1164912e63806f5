import t from 'tap'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { until } from '../../helpers/eventually.ts'
import { startTextWorld, textInput } from './support/text-world.ts'

/** The cost of calls that one user begins at once and that all fail, in each way that costs the operator money. */

const world = await startTextWorld(t)
const CALLS = 60
/** A twentieth of what the calls hold together: 1,000 tokens of output each, at 2 USD for a million. */
const BOUND = (CALLS * 0.002) / 20

const ways = [
  ['streams that the provider breaks off', 'chat', true, 'words=900 cut-after=800'],
  [
    'answers that the provider calls failed',
    'responses',
    false,
    'words=900 fail=server_error usage-in-failed',
  ],
] as const

const mayBeAccepted = (acceptance: unknown): boolean =>
  acceptance === 'certain' || acceptance === 'unknown'

for (const [way, family, streamed, switches] of ways)
  t.test(`${CALLS} ${way} at once cost ten times the bound at most`, async (t) => {
    const { calls } = await world.text({ absorbedCostPerHour: BOUND })
    const input = () =>
      textInput({
        prompt: `[[sandbox ${switches}]]`,
        body: { [family === 'chat' ? 'max_tokens' : 'max_output_tokens']: 1_000 },
        family,
      })
    const inputs = Array.from({ length: CALLS }, input)
    const errors: unknown[] = []
    /** Calls whose provider may have accepted them, by the ids of their requests. */
    const sent: string[] = []
    const make = async (each: (typeof inputs)[number]): Promise<void> => {
      if (!streamed) return void (await calls.complete(each))
      const { frames } = await calls.stream(each)
      for await (const _frame of frames);
    }
    const note = (error: unknown, requestId: string): void => {
      errors.push(error)
      if (isDomainError(error) && mayBeAccepted(error.details['acceptance'])) sent.push(requestId)
    }
    await Promise.all(
      inputs.map((each) => make(each).catch((error: unknown) => note(error, each.requestId))),
    )
    await until(() => calls.inFlight() === 0)
    const refused = errors.filter(
      (error) =>
        isDomainError(error, 'rate_limited') && error.details['limitedBy'] === 'absorbed_cost',
    )
    t.ok(refused.length > 0, `${refused.length} are refused`)
    const ids = new Set(inputs.map(({ requestId }) => requestId))
    const events = async () =>
      (await world.callEvents()).filter(({ data }) => ids.has(data.requestId))
    // A busy machine may fail to connect, tell a caller of the log where it records the call later, or end a stream
    // by a bound of the gateway, after which its caller pays for what came.
    await until(async () => {
      const recorded = new Set((await events()).map(({ data }) => data.requestId))
      return sent.every((requestId) => recorded.has(requestId))
    })
    const cost = (await events())
      .flatMap((event) => (event.type === 'CallFailed' ? [event.data.absorbed] : []))
      .map((absorbed) => Number(absorbed?.settlement.amount))
      .reduce((sum, amount) => sum + amount, 0)
    t.ok(cost > BOUND, `${cost} of ${BOUND}`)
    t.ok(cost <= 10 * BOUND, `${cost} of ${BOUND}`)
    await t.rejects(make(input()), { code: 'rate_limited' }, 'what is above it is paid back first')
  })
