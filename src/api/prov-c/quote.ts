import type { QuoteUseCases } from '../../app/quotes/types.ts'
import { videoCModes } from '../../domain/families/video-c/models.ts'
import type { ForeignNames } from '../kit/foreign-members.ts'
import { misspeltRefusal, type QuotedPath } from '../kit/quoted-path.ts'
import type { ResolveHost } from '../../kernel/public-url.ts'
import { alsoInClips, bodySchemas } from './schemas.ts'
import { readClip } from './tasks/create.ts'

/** What of `/provC` can be priced without being made. */
export function provCQuotedPaths(deps: {
  readonly quotes: QuoteUseCases
  readonly resolveHost: ResolveHost
  readonly foreignMembers: ForeignNames
}): readonly QuotedPath[] {
  return videoCModes.map((mode) => {
    const check = misspeltRefusal(bodySchemas[mode], alsoInClips, { foreign: deps.foreignMembers })
    return {
      path: `/provC/ent/v2/${mode}`,
      quote: async ({ principal, body }) => {
        check(body)
        const { family, model, facts } = await readClip(mode, body, deps.resolveHost)
        return deps.quotes.task({ principal, family, model, facts })
      },
    }
  })
}
