import t from 'tap'
import type { Pool } from 'pg'
import type { AuditedRow } from '../../../projections/engine/audited-rows.ts'
import { Corrections } from '../../../src/app/audit/corrections.ts'
import { Findings } from '../../../src/app/audit/findings.ts'
import { LineCorrections } from '../../../src/app/audit/line-corrections.ts'
import { auditPeriods } from '../../../src/app/audit/periods.ts'
import { Recorder } from '../../projections/support/history.ts'
import { history, takenIn } from './support/audited.ts'

const table = 'days'
const TENANT = 'tenant_1'

async function anyLine(pool: Pool): Promise<AuditedRow> {
  const at = `to_char(settled_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as settled_at`
  const { rows } = await pool.query<AuditedRow>(
    `select l.*, ${at} from ledger.lines l where tenant_id = $1 limit 1`,
    [TENANT],
  )
  const [line] = rows
  if (line === undefined) throw new Error('the tenant has no lines')
  return line
}

t.test('totals by time are checked when some of their lines are wrong', async (t) => {
  const { pool } = await takenIn(t, history(new Recorder()))
  const missing = new LineCorrections()
  missing.add(await anyLine(pool), 1n)
  const found = async (said: {
    readonly corrections?: Corrections
    readonly unapplied?: Corrections
    readonly maxTotals?: number
  }): Promise<Findings['kept']> => {
    const findings = new Findings()
    const none = new Corrections()
    const deps = { pool, table, findings, corrections: none, unapplied: none } as const
    await auditPeriods({ ...deps, ...said }, () => undefined)
    return findings.kept
  }

  t.same(await found({}), [], 'nothing is known to be wrong, and nothing is')

  const lacking = await found({ corrections: missing.days })
  t.match(lacking, [{ code: 'row_differs', table: 'ledger.days' }])
  t.equal(lacking.length, 1, 'the total of the line that is missing, and no other')
  t.same(await found({ corrections: missing.days, unapplied: corrected(missing.days, -1n) }), [])

  const bounded = await found({ corrections: missing.days, maxTotals: 1 })
  t.match(
    bounded.find(({ code }) => code === 'not_compared'),
    {
      table: 'ledger.days',
      key: `${TENANT} from the first day to the last`,
      message: 'there are too many totals of these days',
    },
  )

  const overflowed = new Corrections()
  for (let n = 0; !overflowed.overflowed; n += 1) overflowed.add(`key ${n}`, [1n, 1n, 1n])
  for (const said of [{ corrections: overflowed }, { unapplied: overflowed }])
    t.match(await found(said), [
      {
        code: 'not_compared',
        table: 'ledger.days',
        key: 'days',
        message: /^the totals by time were not compared/,
      },
    ])
})

/** The same corrections, with another sign. */
function corrected(from: Corrections, sign: -1n): Corrections {
  const made = new Corrections()
  for (const key of from.keys())
    made.add(
      key,
      from.of(key, 3).map((each) => sign * each),
    )
  return made
}
