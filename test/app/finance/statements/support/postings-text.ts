import type { MonthOf, Statements } from '../../../../../src/app/finance/statements/types.ts'

/** The whole file of the postings of a closed month. */
export async function postingsText(
  { postings }: Pick<Statements, 'postings'>,
  of: MonthOf,
): Promise<string> {
  let text = ''
  for await (const chunk of postings(of)) text += chunk
  return text
}
