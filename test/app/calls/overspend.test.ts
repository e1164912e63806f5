import { textSettings } from '../../../src/families/text/settings.ts'
import t from 'tap'
import { balances } from '../../helpers/ledger-balances.ts'
import { startExchangeLoop } from '../../../src/app/queue/exchange-loop.ts'
import { UNREPORTED_SHARE } from '../../../src/app/spending/funds.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { startTextWorld, textInput } from './support/text-world.ts'

const world = await startTextWorld(t)

const REPLICAS = 3
const CALLS_EACH = 60
const OUTPUT_TOKENS = 1_000
/** What a call is held for and no call costs more: more input is assumed than the sandbox counts. */
const wish = {
  model: 'text-basic',
  prompt: `[[sandbox tokens=${OUTPUT_TOKENS} first-byte-ms=40]] ${'word '.repeat(60)}`,
  body: { max_tokens: OUTPUT_TOKENS },
}

/** What one such call costs. */
async function priceOfOne(): Promise<bigint> {
  const { calls } = await world.text()
  const { settlement } = await calls.complete(textInput(wish))
  return parseAmount(settlement.amount)
}

t.test(
  'three replicas and a balance for half of their calls: the overspend is within its bound',
  async (t) => {
    const onePico = await priceOfOne()
    const creditPico = (onePico * BigInt(REPLICAS * CALLS_EACH)) / 2n
    const tenantId = 'tenant_half'
    await world.tenant(tenantId, formatAmount(creditPico))
    await world.settle()
    const replicas = await Promise.all(Array.from({ length: REPLICAS }, () => world.text()))
    const telling = replicas.map(({ deps }) =>
      startExchangeLoop({
        exchange: () => deps.gauges.exchange(),
        of: 'funds',
        logger: silentLog,
      }),
    )
    let refused = 0
    const spend = async ({ calls }: (typeof replicas)[number]): Promise<void> => {
      for (let made = 0; made < CALLS_EACH; made += 10)
        await Promise.all(
          Array.from({ length: 10 }, async () => {
            try {
              await calls.complete(textInput({ ...wish, tenantId }))
            } catch (error) {
              if (!isDomainError(error, 'insufficient_balance')) throw error
              refused += 1
            }
          }),
        )
    }
    await Promise.all(replicas.map(spend))
    await Promise.all(telling.map(({ stop }) => stop()))
    await world.settle()
    const balance = (await balances(world.pool, tenantId)).find(
      ({ currency }) => currency === 'USD',
    )
    const leftPico = parseAmount(balance?.available ?? '0')
    const boundPico = (BigInt(REPLICAS - 1) * 2n * creditPico) / UNREPORTED_SHARE
    t.comment(
      `${refused} of ${REPLICAS * CALLS_EACH} refused; credit ${formatAmount(creditPico)}, ` +
        `left ${formatAmount(leftPico)}, may be ${formatAmount(-boundPico)}`,
    )
    t.ok(leftPico >= -boundPico, 'what was spent too much')
    t.ok(leftPico < creditPico / 10n, 'the balance was there to be spent')
    t.ok(refused >= (REPLICAS * CALLS_EACH) / 3)
  },
)

t.test('a call without a limit is held at the largest output of its model', async (t) => {
  const tenantId = 'tenant_short'
  const { calls, deps } = await world.text()
  const [channel] = deps.channels.serving({ family: 'chat', model: 'text-basic' })
  const largest = textSettings(channel ?? {}).largestOutputTokens?.['text-basic'] ?? 0
  // Two dollars for a million: what the output alone may cost, and nothing for the input.
  await world.tenant(tenantId, formatAmount(BigInt(largest) * 2_000_000n))
  await world.settle()
  const refused = await calls.complete(textInput({ tenantId })).then(
    () => '',
    (error: unknown) => (isDomainError(error, 'insufficient_balance') ? error.message : ''),
  )
  const said =
    /^the request needs a hold of [\d.]+ USD; [\d.]+ USD is available; with `(.+)` of at most (\d+) it would fit$/
  const [, name, bound] = said.exec(refused) ?? []
  t.equal(name, 'max_completion_tokens')
  t.ok(Number(bound) > largest / 2, refused)
  const body = { max_completion_tokens: Number(bound) }
  await calls.complete(textInput({ tenantId, body }))
})
