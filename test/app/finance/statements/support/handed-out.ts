import type { Test } from 'tap'
import { createStatementDocuments } from '../../../../../src/app/finance/statements/document/documents.ts'
import { statementFile } from '../../../../../src/app/finance/statements/document/json.ts'
import type { ClosedPeriod } from '../../../../../src/app/finance/statements/types.ts'
import { createMonthFolder, type MonthFile } from '../../../../cli/verify/support/month-files.ts'
import { verifiesBySecond } from '../../../../cli/verify/support/second-verifier.ts'
import { type ClosingWorld, signer } from './closing-world.ts'

/** The files of closed months as a gateway hands them out, and what two verifiers say of them. */

type Files = Partial<Readonly<Record<MonthFile, string | Uint8Array>>>

export function createHandedOut(t: Test, { pool, log, statements }: ClosingWorld) {
  const folder = createMonthFolder()
  t.teardown(() => folder.remove())
  const documents = createStatementDocuments({
    db: pool,
    log,
    statements,
    runJob: () => Promise.reject(new Error('no paper is made')),
  })
  return {
    /** The statement, the postings and the proof of the last line, if there is one. */
    filesOf: async (period: ClosedPeriod, leaves: readonly string[]): Promise<Files> => {
      const { source, proof } = await documents.issued(period)
      const lines = leaves.map((leaf) => JSON.parse(leaf) as readonly [string, string])
      const [, lineId] = lines.findLast(([word]) => word === 'line') ?? []
      const { tenantId } = period
      return {
        statement: statementFile(source, proof),
        postings: leaves.map((leaf) => `${leaf}\n`).join(''),
        ...(lineId === undefined
          ? {}
          : { proof: await statements.proofOfLine({ tenantId, lineId }) }),
      }
    },
    /** Why the program does not verify the files, if it does not, and whether the second verifier does. */
    verdicts: (
      files: Files,
      vkey = signer.vkey,
    ): readonly [why: string | undefined, bySecond: boolean] => {
      const bytes = Object.fromEntries(
        Object.entries(files).map(([name, content]) => [name, Buffer.from(content)]),
      )
      return [folder.verify(files, vkey).why, verifiesBySecond(bytes, vkey)]
    },
  }
}
