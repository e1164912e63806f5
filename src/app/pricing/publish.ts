import { parse } from 'yaml'
import { priceBookStream } from '../../domain/pricing/events.ts'
import { priceBookDecider } from '../../domain/pricing/price-book-decider.ts'
import {
  priceBookFromDocument,
  withoutDemonstrations,
} from '../../domain/pricing/price-book-document.ts'
import { executeCommand } from '../../eventlog/execute.ts'
import type { EventLog } from '../../eventlog/types.ts'
import { type Clock, toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { newId } from '../../kernel/ids.ts'

export interface PublishedPriceBook {
  readonly version: string
  /** False when exactly this book was published before. */
  readonly published: boolean
  readonly position: bigint | undefined
}

/**
 * Publishes a price book file through the log; the same book again changes nothing.
 * @throws DomainError `price_book_invalid`, `price_book_version_taken`, and the log's codes
 */
export async function publishPriceBook(
  deps: { readonly log: EventLog; readonly clock: Clock },
  input: {
    readonly yamlText: string
    /** Only the sandbox default may sell at demonstration prices (design §6). */
    readonly demonstrations: boolean
    readonly correlationId: string
  },
): Promise<PublishedPriceBook> {
  const whole = priceBookFromDocument(parsed(input.yamlText))
  const book = input.demonstrations ? whole : withoutDemonstrations(whole)
  const nowMs = deps.clock.nowMs()
  const result = await executeCommand({
    log: deps.log,
    stream: priceBookStream,
    decider: priceBookDecider,
    command: { kind: 'publish', book, at: toTimestamp(nowMs) },
    commandId: newId('cmd', nowMs),
    metadata: { correlationId: input.correlationId },
  })
  return {
    version: book.version,
    published: result.events.length > 0,
    position: result.position,
  }
}

function parsed(yamlText: string): unknown {
  try {
    return parse(yamlText)
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'unreadable'
    throw new DomainError('price_book_invalid', `the price book is not YAML: ${reason}`, {
      at: 'the price book',
    })
  }
}
