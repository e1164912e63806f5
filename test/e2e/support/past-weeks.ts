import type { EventLog } from '../../../src/eventlog/log/types.ts'
import type { CallEventData } from '../../../src/domain/call/events.ts'
import { toTimestamp } from '../../../src/kernel/clock.ts'
import { eventId, newCallId, newRequestId } from '../../../src/kernel/ids.ts'
import { formatAmount, lineAmount } from '../../../src/kernel/money.ts'

/** Calls that were settled in the weeks before a test, so that its charts and months have something in them. */

const DAY_MS = 86_400_000
const JOURNAL = 'journal-past-weeks-0'
/** An append has at most 1 MiB. */
const CALLS_AN_APPEND = 500

/** Models at the prices of the example book. */
const sold = [
  {
    model: 'text-basic',
    surface: 'v1.chat',
    callsADay: 9,
    lines: [
      ['input', '0.5', 1_000_000, 3_000_000, 'token'],
      ['output', '2', 1_000_000, 900_000, 'token'],
    ],
  },
  {
    model: 'text-reason',
    surface: 'v1.responses',
    callsADay: 5,
    lines: [
      ['input', '1.25', 1_000_000, 700_000, 'token'],
      ['output', '10', 1_000_000, 240_000, 'token'],
    ],
  },
  {
    model: 'speech-2.8-hd',
    surface: 'v1.speech',
    callsADay: 4,
    lines: [['character', '100', 1_000_000, 21_000, 'character']],
  },
] as const

/** Numbers from 0 to 1, the same in every run. */
function evenly(): () => number {
  let state = 20_260_102
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

type Settled = CallEventData<'CallSettled'>
type Owner = Pick<Settled, 'tenantId' | 'userId' | 'tokenId'>

function settledCall(
  of: Owner,
  { model, surface, lines }: (typeof sold)[number],
  atMs: number,
  size: number,
): Settled {
  const billed = lines.map(([name, price, per, usual, unit]) => {
    const quantity = Math.round(usual * size)
    return {
      sku: name === 'character' ? `${model}-character` : `${model}-${name}-token`,
      rule: `text/chat/${name}`,
      quantity,
      unit,
      price,
      per,
      amountPico: lineAmount(quantity, price, per),
      measurement: 'reported' as const,
    }
  })
  const sum = billed.reduce((pico, { amountPico }) => pico + amountPico, 0n)
  return {
    ...of,
    callId: newCallId(atMs),
    requestId: newRequestId(atMs),
    surface,
    model,
    channelId: 'sandbox-chat',
    upstreamModel: model,
    stream: false,
    startedAt: toTimestamp(atMs - 1_400),
    outcome: 'completed',
    usage: Object.fromEntries(lines.map(([name], n) => [name, billed[n]?.quantity ?? 0])),
    settlement: {
      priceBookVersion: '2026-11-30',
      currency: 'USD',
      amount: formatAmount(sum),
      lines: billed.map(({ amountPico, ...line }) => ({
        ...line,
        amount: formatAmount(amountPico),
      })),
    },
    settledAt: toTimestamp(atMs),
  }
}

/** Settles calls of a token on each of so many days before a time; fewer at weekends. */
export async function settlePastWeeks(
  log: EventLog,
  of: Owner,
  nowMs: number,
  days: number,
): Promise<void> {
  const chance = evenly()
  const calls: Settled[] = []
  for (let day = days; day > 0; day -= 1) {
    const dayMs = Math.floor(nowMs / DAY_MS - day) * DAY_MS
    const isWeekend = [0, 6].includes(new Date(dayMs).getUTCDay())
    for (const each of sold)
      for (let n = 0; n < each.callsADay; n += 1) {
        const size = (0.4 + 1.2 * chance()) * (isWeekend ? 0.3 : 1)
        calls.push(settledCall(of, each, dayMs + Math.floor(chance() * DAY_MS), size))
      }
  }
  await settleAll(log, JOURNAL, calls)
}

/** One call of each model for each owner, at times that spread over a stretch. */
export async function settleOneOfEach(
  log: EventLog,
  owners: readonly Owner[],
  {
    fromMs,
    toMs,
    journal = 'journal-one-of-each-0',
  }: { readonly fromMs: number; readonly toMs: number; readonly journal?: string },
): Promise<void> {
  const chance = evenly()
  const calls = owners.flatMap((of) =>
    sold.map((each) =>
      settledCall(of, each, fromMs + Math.floor(chance() * (toMs - fromMs)), 0.4 + 1.2 * chance()),
    ),
  )
  await settleAll(log, journal, calls)
}

/** Appends calls of one journal in the order of their times. */
async function settleAll(log: EventLog, journal: string, calls: readonly Settled[]): Promise<void> {
  const ordered = calls.toSorted((a, b) => (a.settledAt < b.settledAt ? -1 : 1))
  for (let at = 0; at < ordered.length; at += CALLS_AN_APPEND)
    await log.append(
      journal,
      ordered.slice(at, at + CALLS_AN_APPEND).map((data) => ({
        id: eventId(journal, data.callId, 0),
        type: 'CallSettled' as const,
        data,
        metadata: {
          schemaVersion: 1,
          commandId: data.callId,
          correlationId: data.requestId,
          tenantId: data.tenantId,
          tokenId: data.tokenId,
        },
      })),
      at === 0 ? 'no_stream' : BigInt(at - 1),
    )
}
