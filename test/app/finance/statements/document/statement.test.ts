import * as fc from 'fast-check'
import t from 'tap'
import { statementOf } from '../../../../../src/app/finance/statements/document/statement.ts'
import { parseAmount } from '../../../../../src/kernel/money.ts'
import { propertyRuns } from '../../../../helpers/property-runs.ts'
import { emptyMonth, monthOf, november, sumOf } from './support/source.ts'

const CENT_PICO = 10n ** 10n

t.test(
  'a statement has usage by SKU, then the credit that is not zero, exact and in cents',
  async (t) => {
    const { opening, closing, exact, rows } = statementOf(november)
    t.same(
      { opening, closing, exact },
      {
        opening: '1200.01',
        closing: '48713.41',
        exact: { opening: '1200.005', closing: '48713.405' },
      },
    )
    t.same(
      rows.map(({ key, quantity, exact: amount, shown }) => [key, quantity, amount, shown]),
      [
        ['domestic-video-2-0-720p-novideo', 54_300_000, '-2497.8', '-2497.80'],
        ['text-basic-input-token', 3_033_333, '-1.5166665', '-1.52'],
        ['text-basic-output-token', 1_769_166, '-3.538332', '-3.54'],
        ['other', null, '-0.0000015', '0.00'],
        ['granted_paid', null, '50000', '50000.00'],
        ['granted_promotional', null, '20', '20.00'],
        ['adjusted_usage', null, '2.505', '2.51'],
        ['adjusted_grants', null, '-5', '-5.00'],
        ['expired', null, '-1.25', '-1.25'],
      ],
    )
    t.equal(sumOf([opening, ...rows.map(({ shown }) => shown)]), closing)
  },
)

t.test(
  'refunds are credit notes of the statements that have their lines, and add up to their row',
  async (t) => {
    t.same(
      statementOf(november).creditNotes,
      [
        {
          number: 'ACME-0010-CN-2026-11',
          statement: 'ACME-0010',
          exact: '1.2525',
          shown: '1.25',
          postings: 1,
        },
        { number: null, statement: null, exact: '1.2525', shown: '1.26', postings: 2 },
      ].toSorted((a, b) => Number(a.number === null) - Number(b.number === null)),
    )
  },
)

t.test(
  'a month without movements has no rows, and the opening balance is the closing one',
  async (t) => {
    const { opening, closing, rows, creditNotes } = statementOf(emptyMonth('-0.005'))
    t.same(
      { opening, closing, rows, creditNotes },
      {
        opening: '0.00',
        closing: '0.00',
        rows: [],
        creditNotes: [],
      },
    )
  },
)

/** Amounts of which many have exactly half a cent, the value on which modes of rounding differ. */
const amountPico = fc.oneof(
  fc.bigInt(-(10n ** 16n), 10n ** 16n),
  fc.bigInt(-1_000n, 1_000n).map((cents) => cents * CENT_PICO + CENT_PICO / 2n),
  fc.bigInt(-1_000n, 1_000n).map((cents) => cents * CENT_PICO),
  fc.bigInt(-20n, 20n),
)
const months = fc.record({
  openingPico: amountPico,
  usagePico: fc.array(
    amountPico.map((pico) => (pico < 0n ? -pico : pico)),
    { maxLength: 30 },
  ),
  refundsPico: fc.array(amountPico, { maxLength: 6 }),
  creditPico: fc.array(amountPico, { minLength: 4, maxLength: 4 }),
})

t.test(
  'opening and rows give closing to the shown cent, and credit notes their row, in any month',
  async (t) => {
    const offByLessThanACent = ({
      exact,
      shown,
    }: {
      readonly exact: string
      readonly shown: string
    }) => {
      const offPico = parseAmount(shown) - parseAmount(exact)
      return offPico < CENT_PICO && -offPico < CENT_PICO
    }
    fc.assert(
      fc.property(months, (amounts) => {
        const month = monthOf(amounts)
        const { opening, closing, exact, rows, creditNotes } = statementOf(month)
        const refunded = rows.find(({ kind }) => kind === 'adjusted_usage')
        const whole = [...rows, ...creditNotes].filter(
          (row) => parseAmount(row.exact) % CENT_PICO === 0n,
        )
        return (
          sumOf([opening, ...rows.map(({ shown }) => shown)]) === sumOf([closing]) &&
          sumOf([exact.opening, ...rows.map((row) => row.exact)]) === exact.closing &&
          sumOf(creditNotes.map(({ shown }) => shown)) === sumOf([refunded?.shown ?? '0']) &&
          [...rows, ...creditNotes].every(offByLessThanACent) &&
          whole.every((row) => parseAmount(row.exact) === parseAmount(row.shown))
        )
      }),
      { numRuns: propertyRuns(3_000) },
    )
    t.pass()
  },
)
