import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { SandboxFamily } from '../../../infra/sandbox/family.ts'
import { principalOf } from '../../../src/api/kit/tokens/authenticate.ts'
import {
  creationsOf,
  submitted,
  type TaskCreation,
  setTaskHeaders,
} from '../../../src/api/kit/routes/tasks.ts'
import type { Services } from '../../../src/api/kit/services.ts'
import type { Mount } from '../../../src/api/kit/routes/surface.ts'
import type { TaskFamilyRules } from '../../../src/domain/catalog/task-rules.ts'
import { settlement, settlementLine } from '../../../src/domain/pricing/settlement.ts'
import { rate } from '../../../src/domain/pricing/price-book.ts'
import type { FamilyModule } from '../../../src/families/module.ts'
import { createTaskProvider } from '../../../src/families/kit/task/client.ts'
import type { TaskWire } from '../../../src/families/kit/task/wire.ts'
import { isJsonObject } from '../../../src/kernel/json.ts'
import { oops, textOf } from './call-family.ts'

/** A family of tasks that is in no list: figures of clay. */

const family = 'clay'
const MODEL = 'clay-1'
const SKU = 'clay-1-figure'
const models = [{ name: MODEL, aliases: ['clay-1-260101'] }]

const rules: TaskFamilyRules = {
  family,
  idKind: 'image',
  defaultExpiryS: 3_600,
  longestExpiryS: 3_600,
  models,
  resolve: (name) => models.find((one) => one.name === name || one.aliases.includes(name)),
  quote: (_model, _facts, book) => {
    const rated = rate(book, SKU, 'USD', 'clay/figure')
    return {
      priceBookVersion: book.version,
      currency: 'USD',
      candidates: [rated],
      hold: rated.price,
    }
  },
  settle: ({ quote, usage }) => {
    const [rated] = quote.candidates
    const figures = usage['figure']
    return rated && figures
      ? settlement(quote, [settlementLine(rated, figures, 'reported')])
      : undefined
  },
  prices: () => [{ sku: SKU, currency: 'USD', unit: 'figure' }],
}

const wire: TaskWire = {
  family,
  maxListIds: 10,
  maxListSize: 10,
  maxListPages: 10,
  showsMarkers: true,
  credentialHeaders: ({ credential }) => ({ authorization: `Bearer ${credential}` }),
  createPath: () => '/figures',
  createBody: ({ model, body, marker }) => ({ ...body, model, marker }),
  taskPath: (nativeId) => `/figures/${nativeId}`,
  listPath: () => '/figures',
  readError: () => undefined,
  readCreated: (body) => (isJsonObject(body) ? String(body['id']) : undefined),
  readTask: (body) =>
    isJsonObject(body)
      ? {
          nativeId: String(body['id']),
          status: 'succeeded',
          upstreamStatus: 'fired',
          usage: { figure: 1 },
          output: {},
          urls: { figure_url: String(body['url']) },
        }
      : undefined,
  readList: (body) =>
    isJsonObject(body) && Array.isArray(body['figures'])
      ? { items: body['figures'], total: undefined }
      : undefined,
}

const clay: Mount = { prefix: '/clay', envelopeOf: () => oops, bodyBytes: 10_000 }

const creation: TaskCreation<{ readonly model: string; readonly pose: string }> = {
  path: '/figures',
  name: 'clay.figures',
  body: Type.Object({ model: Type.String(), pose: Type.String() }, { additionalProperties: true }),
  documented: { operationId: 'createFigure', tags: ['Clay'], summary: 'Form a figure' },
  accept: (body) => ({ model: textOf(body, 'model'), pose: textOf(body, 'pose') }),
  creator: submitted,
  order: ({ model, pose }) => ({
    family,
    model,
    facts: { inputs: { text: 1 }, tools: [], settings: {} },
    upstreamBody: () => ({ pose }),
  }),
  answer: ({ nativeId, platformId }) => ({ figure: nativeId, platform_id: platformId }),
}

function figureRoute(app: FastifyInstance, { tasks }: Pick<Services, 'tasks'>): void {
  app.get('/figures/:id', {
    schema: { operationId: 'getFigure', tags: ['Clay'], summary: 'Look at a figure' },
    handler: async (request, reply) => {
      const { id } = request.params as { readonly id: string }
      const principal = principalOf(request)
      const view = await tasks.getTask({ principal, family, id, requestId: request.id })
      setTaskHeaders(reply, view)
      return { figure: view.nativeId, state: view.status, link: view.urls?.['figure_url'] }
    },
  })
}

export const clayFamily: FamilyModule = {
  rules: { name: family, tasks: rules },
  sandbox: [
    {
      id: 'sandbox-clay',
      family,
      region: 'overseas',
      path: '/clay',
      models: { [MODEL]: 'loam-1' },
    },
  ],
  mounts: [clay],
  open: () => {
    const tasks = createTaskProvider(wire)
    const surfaces = [creationsOf(clay, [creation], figureRoute)]
    return { tasks, surfaces, close: tasks.close }
  },
}

/** Forms every figure at once, of the model under its own name for it. */
export const claySandbox: SandboxFamily = {
  name: family,
  register: (app) => {
    const figures: { readonly id: string; readonly url: string }[] = []
    app.post('/clay/figures', (request, reply) => {
      const sent: unknown = JSON.parse(String(request.body))
      if (!isJsonObject(sent) || sent['model'] !== 'loam-1') return reply.code(400).send({})
      const id = `fig-${figures.length + 1}`
      figures.push({ id, url: `https://media.example.com/${id}` })
      return reply.send({ id })
    })
    app.get('/clay/figures', () => ({ figures }))
    app.get('/clay/figures/:id', (request) =>
      figures.find(({ id }) => id === (request.params as { readonly id: string }).id),
    )
  },
}
