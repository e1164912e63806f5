import type { FastifyInstance } from 'fastify'
import { adminPlugin } from './admin/plugin.ts'
import { useEnvelope } from './kit/envelope.ts'
import { useLongAnswers } from './kit/answers/long-answers.ts'
import type { Services } from './kit/services.ts'
import { queryEnvelope } from './query/envelope.ts'
import { queryPlugin } from './query/plugin.ts'
import type { Queries } from './query/services.ts'
import { userPlugin } from './user/plugin.ts'

/** Accounts and money, for finance, support and consoles. */
export async function registerAccounts(
  app: FastifyInstance,
  services: Services & { readonly queries: Queries },
): Promise<void> {
  await app.register(
    async (api) => {
      useEnvelope(api, queryEnvelope)
      useLongAnswers(api)
      await api.register(queryPlugin(services), { prefix: '/query/v1' })
      await api.register(userPlugin(services), { prefix: '/user' })
      await api.register(adminPlugin(services), { prefix: '/admin' })
    },
    { prefix: '/api' },
  )
}
