import { accountEvents, type AccountEvent } from './account/events.ts'
import { callEvents, type CallEvent } from './call/events.ts'
import { priceBookEvents, type PriceBookEvent } from './pricing/events.ts'
import { taskEvents, type TaskEvent } from './task/events.ts'
import { tokenEvents, type TokenEvent } from './token/events.ts'

/** Every event there is; the codec and the projections read this one registry. */
export const eventSchemas = {
  ...taskEvents,
  ...callEvents,
  ...accountEvents,
  ...tokenEvents,
  ...priceBookEvents,
} as const

export type AnyEvent = TaskEvent | CallEvent | AccountEvent | TokenEvent | PriceBookEvent
export type AnyEventType = AnyEvent['type']
