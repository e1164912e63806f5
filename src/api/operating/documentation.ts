import { setImmediate as nextTurn } from 'node:timers/promises'
import fastifySwaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { useKeptPages } from '../kit/answers/kept-pages.ts'
import type { Tag } from '../kit/routes/surface.ts'
import { type Description, useBuiltDescription, useDescription } from './description.ts'

/**
 * The page loads no resources from other hosts; it is not upgraded to https, so that it also works
 * over http.
 */
const contentPolicy = {
  'default-src': ["'self'"],
  'base-uri': ["'self'"],
  'frame-ancestors': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'object-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'", "'unsafe-inline'"],
}

/** The parts of the page's own lists that its filter uses; they are lists of the library Immutable. */
interface ShownSections {
  map(change: (section: ShownSection, name: string) => ShownSection): ShownSections
  filter(keeps: (section: ShownSection) => boolean): ShownSections
}
interface ShownSection {
  get(member: 'operations'): { readonly size: number }
  update(
    member: 'operations',
    change: (operations: ShownOperations) => ShownOperations,
  ): ShownSection
}
interface ShownOperations {
  filter(keeps: (operation: { getIn(path: readonly string[]): string }) => boolean): ShownOperations
}

/**
 * Finds a section by its name, and an operation by its method, path and summary; the page alone would find
 * sections only. It is sent to the page as text: it uses nothing outside of itself, and has a method
 * where a transpiler would give an arrow function its name by a helper.
 */
const filterOfOperations = () => ({
  fn: {
    opsFilter(sections: ShownSections, words: string): ShownSections {
      return sections
        .map((section, name) =>
          name.toLowerCase().includes(words.toLowerCase())
            ? section
            : section.update('operations', (operations) =>
                operations.filter((operation) =>
                  [['method'], ['path'], ['operation', 'summary']]
                    .map((path) => operation.getIn(path))
                    .join(' ')
                    .toLowerCase()
                    .includes(words.toLowerCase()),
                ),
              ),
        )
        .filter((section) => section.get('operations').size > 0)
    },
  },
})

/** The type of the document at every address: JSON is valid YAML, which takes far longer to write. */
const JSON_TYPE = 'application/json; charset=utf-8'
const pageDescriptions: ReadonlySet<string | undefined> = new Set(['/docs/json', '/docs/yaml'])

/** The gateway reads, writes and hashes the document in separate turns, so that other requests run between. */
async function textOf(document: Description): Promise<string> {
  await nextTurn()
  const text = JSON.stringify(document)
  await nextTurn()
  return text
}

export interface DocumentationOptions {
  /** Version shown in the OpenAPI description. */
  readonly version: string
  /** Reads the OpenAPI document that a build made; undefined: it is made when it is first asked for. */
  readonly description?: (() => Promise<string>) | undefined
}

/**
 * The OpenAPI description at `/openapi.json` and a page for readers at `/docs`, which loads no
 * resources from other hosts. Must be used before the routes that it describes.
 *
 * @param ofMounts sections of the routes for model tokens, in the order in which they are shown
 */
export async function useDocumentation(
  app: FastifyInstance,
  { version, description }: DocumentationOptions,
  ofMounts: readonly Tag[],
): Promise<void> {
  const describe =
    description === undefined
      ? await useDescription(app, version, ofMounts)
      : await useBuiltDescription(app, description)
  await app.register(async (pages) => {
    useKeptPages(pages)
    pages.addHook('onRequest', async (request, reply) => {
      if (!pageDescriptions.has(request.routeOptions.url)) return undefined
      // The page resolves references of 3.1 before it shows anything, which takes it ten times as long.
      return reply.type(JSON_TYPE).send(JSON.stringify({ ...(await describe()), openapi: '3.0.3' }))
    })
    await pages.register(fastifySwaggerUi, {
      routePrefix: '/docs',
      staticCSP: contentPolicy,
      uiConfig: {
        docExpansion: 'none',
        filter: true,
        plugins: [filterOfOperations],
        deepLinking: true,
        validatorUrl: null,
      },
      theme: {
        title: 'Tollgate API',
        css: [{ filename: 'tollgate.css', content: '.swagger-ui .topbar { display: none }' }],
      },
    })
    pages.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) =>
      reply.type(JSON_TYPE).send(await textOf(await describe())),
    )
  })
}
