import type { Static } from 'typebox'
import type { Receipt } from '../../../app/finance/receipts/types.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import type { ReceiptSchema } from './schemas.ts'

/** A receipt for the caller. Only operators see who posted a refund. */
export function shownReceipt(receipt: Receipt, forOperator: boolean): Static<typeof ReceiptSchema> {
  return {
    id: receipt.sourceId,
    object: 'receipt',
    kind: receipt.kind,
    state: receipt.state,
    verdict: receipt.verdict,
    tenant_id: receipt.tenantId,
    user_id: receipt.userId,
    token_id: receipt.tokenId,
    request_id: receipt.requestId,
    native_id: receipt.nativeId ?? null,
    surface: receipt.surface,
    model: receipt.model,
    tags: receipt.tags ?? null,
    end_user: receipt.endUser ?? null,
    currency: receipt.currency ?? null,
    amount: receipt.amount,
    adjusted: receipt.adjusted,
    net: receipt.net,
    as_of: receipt.asOf,
    held: receipt.held,
    price_book_version: receipt.priceBookVersion ?? null,
    measurement: receipt.measurement ?? null,
    lines: receipt.lines.map(({ lineId, accountPrices, ...line }) => ({
      line_id: lineId,
      ...line,
      account_prices: accountPrices,
    })),
    corrections: receipt.corrections.map((one) => ({
      adjustment_id: one.adjustmentId,
      line_id: one.lineId,
      amount: one.amount,
      reason: one.reason,
      posted_at: toTimestamp(one.postedAtMs),
      ...(forOperator ? { actor: one.actor } : {}),
    })),
    timeline: receipt.timeline.map(({ position, type, atMs }) => ({
      position,
      type,
      at: toTimestamp(atMs),
    })),
  }
}
