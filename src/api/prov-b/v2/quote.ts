import type { QuoteUseCases } from '../../../app/quotes/types.ts'
import type { ForeignNames } from '../../kit/foreign-members.ts'
import { misspeltRefusal, type QuotedPath } from '../../kit/quoted-path.ts'
import { readVideo } from './create.ts'
import type { MediaDeps } from './media.ts'
import { CreateVideoBodySchema } from './schemas.ts'

/** What of `/provB/v2` can be priced without being made. */
export function provBV2QuotedPaths(
  deps: MediaDeps & {
    readonly quotes: QuoteUseCases
    readonly foreignMembers: ForeignNames
  },
): readonly QuotedPath[] {
  const check = misspeltRefusal(CreateVideoBodySchema, {}, { foreign: deps.foreignMembers })
  return [
    {
      path: '/provB/v2/video_generation',
      quote: async ({ principal, body }) => {
        check(body)
        const { family, model, facts } = await readVideo(body, principal, deps)
        return deps.quotes.task({ principal, family, model, facts })
      },
    },
  ]
}
