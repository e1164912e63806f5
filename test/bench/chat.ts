import type { Benchmark, Figure } from './figure.ts'
import { cpuFigures, firstMinute, saturate, warmUp } from './chat-load.ts'
import { withClosers } from './kit/closers.ts'
import { TENANTS } from './kit/sizes.ts'
import {
  longChatBody,
  startPassThrough,
  startPortkey,
  startTollgate,
  startUpstream,
  tryOut,
  type Row,
} from './kit/text-rows.ts'

/**
 * Chat without streaming, of many tenants by chance, rows side by side in one run: everything is started
 * once and asked in turns by the same client, so that what else the machine does falls on all of them.
 * First as many requests as 32 connections carry and what each costs in processor time, over all processes
 * of a row, also of one tenant; then the same with other numbers of connections, and with long answers.
 */

const CONNECTIONS = 32
/** The fewer callers, the more each costs: less is shared. */
const OTHER_CONNECTIONS = (process.env['BENCH_CONNECTIONS'] ?? '128,8,1')
  .split(',')
  .filter(Boolean)
  .map(Number)

/** How many calls the durable row carries, measured against the other rows. */
function ratios(
  many: { readonly of: (row: Row) => number },
  durable: Row,
  portkey: Row,
  bare: Row,
) {
  return [
    {
      name: `chat, Tollgate durable as a multiple of ${portkey.name}`,
      value: many.of(durable) / many.of(portkey),
      unit: '×',
      reach: 2.5,
    },
    {
      name: `chat, Tollgate durable as a share of the ${bare.name}`,
      value: many.of(durable) / many.of(bare),
      unit: '×',
      reach: 0.3,
    },
  ]
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const startedBare = await startPassThrough(closers, upstream.url)
    const startedPortkey = await startPortkey(closers, upstream.url)
    const { row, gateway, withNullLog } = await startTollgate(closers, upstream.url)
    const onNullLog = await withNullLog()
    const all = [upstream.row, startedBare, startedPortkey, row, onNullLog]
    for (const one of all) await tryOut(one)
    // The rows that read no token are sent one too: what the client does is the same for all.
    const tokens = await gateway.tenants(TENANTS)
    const [alone, bare, portkey, durable, nullLog] = all.map((one) => ({ ...one, tokens })) as [
      Row,
      Row,
      Row,
      Row,
      Row,
    ]
    const ofOne = { ...durable, name: `${durable.name}, one tenant`, tokens: [gateway.token] }
    const rows = [alone, bare, portkey, durable, nullLog, ofOne]
    const first = await firstMinute(durable, gateway)
    await warmUp(rows.filter((one) => one !== durable))
    const many = await saturate(rows, durable, gateway, CONNECTIONS)
    const others: Figure[] = []
    for (const connections of OTHER_CONNECTIONS) {
      const measured = await saturate([bare, portkey, durable], durable, gateway, connections)
      others.push(...measured.figures(bare), ...cpuFigures(measured, durable, bare))
    }
    const bareLong = { ...bare, body: longChatBody }
    const durableLong = { ...durable, body: longChatBody }
    const long = await saturate(
      [bareLong, durableLong],
      durableLong,
      gateway,
      CONNECTIONS,
      'chat, answers of 20 kB',
    )
    return [
      ...first,
      ...many.figures(bare),
      ...cpuFigures(many, durable, bare),
      ...ratios(many, durable, portkey, bare),
      ...others,
      ...long.figures(bareLong),
    ]
  })
