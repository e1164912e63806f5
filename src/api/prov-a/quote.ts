import type { QuoteUseCases } from '../../app/quotes/types.ts'
import type { ForeignNames } from '../kit/foreign-members.ts'
import { misspeltRefusal, type QuotedPath } from '../kit/quoted-path.ts'
import type { ResolveHost } from '../../kernel/public-url.ts'
import { alsoInTasks, CreateTaskBodySchema } from './schemas.ts'
import { readTask } from './tasks/create.ts'

/** What of `/provA` can be priced without being made. */
export function provAQuotedPaths(deps: {
  readonly quotes: QuoteUseCases
  readonly resolveHost: ResolveHost
  readonly foreignMembers: ForeignNames
}): readonly QuotedPath[] {
  const check = misspeltRefusal(CreateTaskBodySchema, alsoInTasks, { foreign: deps.foreignMembers })
  return [
    {
      path: '/provA/api/v3/contents/generations/tasks',
      quote: async ({ principal, body }) => {
        check(body)
        const { family, model, facts, assets } = await readTask(body, deps.resolveHost)
        return deps.quotes.task({ principal, family, model, facts, assets })
      },
    },
  ]
}
