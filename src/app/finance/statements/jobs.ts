import type { Queryable } from '../../../../projections/engine/queryable.ts'
import type { LinesFile, LinesJob } from '../line-files/job.ts'
import type { PaperJob } from './document/paper/pdf.ts'
import { type BuiltTree, buildTree, type TreeJob } from './tree.ts'

/** The work of closed months that a child process does, so that callers do not wait for it. */

/** Takes and gives of each kind of job; both pass between two processes as structured clones. */
export interface JobKinds {
  readonly tree: { readonly input: TreeJob; readonly answer: BuiltTree }
  readonly pdf: { readonly input: PaperJob; readonly answer: Uint8Array }
  readonly lines: { readonly input: LinesJob; readonly answer: LinesFile }
}

export type JobKind = keyof JobKinds

/** The means of a job in the child. */
export interface JobContext {
  readonly db: Queryable
  /**
   * Leaves the processors to others for a while; for long jobs, between pages of rows.
   * @throws once the caller no longer waits for the job
   */
  readonly rest: () => Promise<void>
  /** Aborts once the caller no longer waits for the job. */
  readonly withdrawn: AbortSignal
}

export const jobs: {
  readonly [Kind in JobKind]: (
    input: JobKinds[Kind]['input'],
    context: JobContext,
  ) => Promise<JobKinds[Kind]['answer']>
} = {
  tree: (job, { db, rest }) => buildTree(db, job, rest),
  // A child that makes no paper loads no fonts, and one that writes no lines no writer of Parquet.
  pdf: async (job) => (await import('./document/paper/pdf.ts')).statementPdf(job),
  lines: async (job, { db, withdrawn }) =>
    (await import('../line-files/job.ts')).writeLines(db, job, withdrawn),
}
