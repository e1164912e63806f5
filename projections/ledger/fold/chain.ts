import { hash } from 'node:crypto'
import type { Per } from '../../../src/kernel/money.ts'

/** A settled line as it is stored and shown; decimals canonical, times RFC 3339 with milliseconds. */
export interface LedgerLine {
  /** `<source_id>:<n>`, n from 1. */
  readonly lineId: string
  readonly settledAt: string
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  /** Platform id of a task, call id of a call. */
  readonly sourceId: string
  readonly nativeId: string | null
  readonly surface: string
  readonly model: string
  readonly sku: string
  readonly rule: string
  readonly quantity: number
  readonly unit: string
  readonly price: string
  readonly per: Per
  readonly currency: string
  readonly amount: string
  readonly priceBookVersion: string
  readonly measurement: 'reported' | 'estimated'
  readonly requestId: string
  readonly position: bigint
}

/** What the first line is chained to: 32 zero bytes. */
export const GENESIS = Buffer.alloc(32)

/** The bytes that are hashed: the one place that says what a line's hash covers, and in what form. */
export function canonicalBytes(line: LedgerLine): string {
  return JSON.stringify([
    line.lineId,
    line.settledAt,
    line.tenantId,
    line.userId,
    line.tokenId,
    line.sourceId,
    line.nativeId,
    line.surface,
    line.model,
    line.sku,
    line.rule,
    line.quantity,
    line.unit,
    line.price,
    line.per,
    line.currency,
    line.amount,
    line.priceBookVersion,
    line.measurement,
    line.requestId,
    line.position.toString(),
  ])
}

/** Hash of a line given the hash of the line before it in the order of the log. */
export function chainHash(previous: Uint8Array, line: LedgerLine): Buffer {
  return hash('sha256', Buffer.concat([previous, Buffer.from(canonicalBytes(line))]), 'buffer')
}
