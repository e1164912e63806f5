import type { StatementSource } from '../../../../../../src/app/finance/statements/document/source.ts'
import type { PeriodOf } from '../../../../../../src/app/finance/statements/types.ts'
import { formatAmount, parseAmount } from '../../../../../../src/kernel/money.ts'

/** A month of Acme in Shanghai: usage of three SKUs, credit of both kinds, refunds of two statements. */
export const november: PeriodOf = {
  tenantId: 'acme',
  currency: 'CNY',
  month: '2026-11',
  n: 11,
  attempt: 1,
  statement: 'ACME-0011',
  timeZone: 'Asia/Shanghai',
  from: '2026-11-01T00:00:00+08:00',
  to: '2026-12-01T00:00:00+08:00',
  position: '928374655',
  profile: 3,
  issuer: 1,
  opening: '1200.005',
  granted: { paid: '50000', promotional: '20' },
  adjusted: { usage: '2.505', grants: '-5' },
  expired: '-1.25',
  settled: '-2502.855',
  closing: '48713.405',
  lines: 1_040,
  postings: 1_047,
  late: 3,
  sums: [
    {
      sku: 'domestic-video-2-0-720p-novideo',
      unit: 'token',
      quantity: 54_300_000,
      amount: '2497.8',
      lines: 12,
    },
    {
      sku: 'text-basic-input-token',
      unit: 'token',
      quantity: 3_033_333,
      amount: '1.5166665',
      lines: 514,
    },
    {
      sku: 'text-basic-output-token',
      unit: 'token',
      quantity: 1_769_166,
      amount: '3.538332',
      lines: 513,
    },
    { sku: 'other', unit: null, quantity: null, amount: '0.0000015', lines: 1 },
  ],
  refunds: [
    { statement: 'ACME-0010', amount: '1.2525', postings: 1 },
    { statement: null, amount: '1.2525', postings: 2 },
  ],
  accruals: { held: '46', unstated: '0.0375' },
}

const checkpoint = `gateway.example/acme/CNY/2026-11/1
1048
9RjxbFpOhhbAiQjZRFDj47DBJWXX1BmL2p0hvvmU2Uw=

— gateway.example/statements U+Ho9mGUbmpKTYHKlZqMvPzZo1Vw4rvrT1oG6DzD1PEhVdZbVMTTYmBzkkAWmvzBR8WJvkZ4Xyq9NzDlpfJqbGqbDgg=
`

/** The statement of that month. */
export const issued: StatementSource = {
  period: november,
  issued: { statement: 'ACME-0011', closedAt: '2026-12-04T09:00:00.000Z', checkpoint },
  voided: undefined,
  issuer: {
    legalName: 'Tollgate GmbH',
    address: ['Torstr. 1', '10119 Berlin'],
    country: 'DE',
    taxId: 'DE123456789',
  },
  customer: {
    legalName: 'Acme 上海有限公司',
    address: ['88 Century Avenue', 'Pudong', 'Shanghai 200120'],
    country: 'CN',
    taxId: '91310000MA1FL4CT2X',
    poNumber: 'PO-2026-117',
  },
  language: 'en',
}

/** The same statement, signed by a gateway without a public name. */
export const demonstration: StatementSource = {
  ...issued,
  issued: {
    statement: 'ACME-0011',
    closedAt: '2026-12-04T09:00:00.000Z',
    checkpoint: checkpoint.replaceAll('gateway.example', 'localhost'),
  },
}

export const preview: StatementSource = { ...issued, issued: undefined }

/** A month without a movement. */
export function emptyMonth(opening: string): PeriodOf {
  return {
    ...november,
    opening,
    closing: opening,
    granted: { paid: '0', promotional: '0' },
    adjusted: { usage: '0', grants: '0' },
    expired: '0',
    settled: '0',
    lines: 0,
    postings: 0,
    late: 0,
    sums: [],
    refunds: [],
    accruals: { held: '0', unstated: '0' },
  }
}

/** A month of these amounts, whose balances follow from them. */
export function monthOf(amounts: {
  readonly openingPico: bigint
  readonly usagePico: readonly bigint[]
  readonly refundsPico: readonly bigint[]
  readonly creditPico: readonly bigint[]
}): PeriodOf {
  const { openingPico, usagePico, refundsPico, creditPico } = amounts
  const sum = (all: readonly bigint[]): bigint => all.reduce((total, each) => total + each, 0n)
  const [paid = 0n, promotional = 0n, grants = 0n, expired = 0n] = creditPico
  const movedPico = sum([paid, promotional, grants, expired, ...refundsPico]) - sum(usagePico)
  return {
    ...november,
    opening: formatAmount(openingPico),
    granted: { paid: formatAmount(paid), promotional: formatAmount(promotional) },
    adjusted: { usage: formatAmount(sum(refundsPico)), grants: formatAmount(grants) },
    expired: formatAmount(expired),
    settled: formatAmount(-sum(usagePico)),
    closing: formatAmount(openingPico + movedPico),
    sums: usagePico.map((amountPico, n) => {
      return {
        sku: `sku-${n}`,
        unit: 'token',
        quantity: n,
        amount: formatAmount(amountPico),
        lines: 1,
      }
    }),
    refunds: refundsPico.map((amountPico, n) => {
      return { statement: `ACME-${n}`, amount: formatAmount(amountPico), postings: 1 }
    }),
  }
}

/** Adds decimals exactly. */
export function sumOf(amounts: readonly string[]): string {
  return formatAmount(amounts.reduce((sum, amount) => sum + parseAmount(amount), 0n))
}
