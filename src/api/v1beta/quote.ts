import type { QuoteUseCases } from '../../app/quotes/types.ts'
import { foreignToTexts } from '../kit/foreign-members.ts'
import { misspeltRefusal, type QuotedPath } from '../kit/quoted-path.ts'
import { alsoInNative } from './also-known.ts'
import { type FileChecks, readCall } from './read-call.ts'
import { GenerateBodySchema } from './schemas.ts'
import { spellings } from './spelling.ts'

/** What of `/v1beta` can be priced without being made. */
export function v1betaQuotedPaths(
  deps: FileChecks & { readonly quotes: QuoteUseCases },
): readonly QuotedPath[] {
  const check = misspeltRefusal(GenerateBodySchema, alsoInNative, {
    spellings,
    foreign: foreignToTexts,
  })
  return ['generateContent', 'streamGenerateContent'].map((method) => ({
    path: `/v1beta/models/{model}:${method}`,
    quote: async ({ principal, requestId, part, body }) => {
      check(body)
      const call = await readCall(body, part, deps)
      return deps.quotes.text({ ...call, principal, requestId })
    },
  }))
}
