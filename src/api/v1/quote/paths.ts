import type { ImageUseCases } from '../../../app/calls/images/types.ts'
import type { ImageTaskUseCases } from '../../../app/tasks/images/types.ts'
import type { TaskUseCases } from '../../../app/tasks/types.ts'
import { type Catalog, videoFamilyOf } from '../../../domain/catalog/catalog.ts'
import type { ImageKind } from '../../../domain/catalog/image-rules.ts'
import type { ForeignNames } from '../../kit/foreign-members.ts'
import { taskAssetsOf } from '../../kit/task-answer.ts'
import { misspeltRefusal } from '../../kit/misspelt.ts'
import type { QuotedPath } from '../../kit/quoted-path.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import { refuseForTasks } from '../images/async.ts'
import { readJsonOrder } from '../images/order.ts'
import { imageBodies } from '../images/schemas.ts'
import { CreateVideoBodySchema, type OrderDeps, readVideoMembers } from '../videos/order.ts'

export interface QuoteDeps extends Pick<OrderDeps, 'findAssetTypes'> {
  readonly catalog: Catalog
  readonly tasks: TaskUseCases
  readonly images: ImageUseCases
  readonly imageTasks: ImageTaskUseCases
  readonly resolveHost: ResolveHost
  readonly foreignMembers: ForeignNames
}

function imagePaths({
  catalog,
  images,
  imageTasks,
  resolveHost,
  foreignMembers: foreign,
}: QuoteDeps): readonly QuotedPath[] {
  const { generation, edit } = imageBodies(catalog)
  const checks = {
    generation: misspeltRefusal(generation, { foreign }),
    edit: misspeltRefusal(edit, { foreign }),
  }
  const atOnce = (kind: ImageKind): QuotedPath => ({
    path: `/v1/images/${kind}s`,
    quote: async ({ principal, requestId, body }) => {
      checks[kind](body)
      const order = await readJsonOrder({ catalog, resolveHost }, body, kind)
      return images.quote({ ...order, surface: `v1.images.${kind}s`, principal, requestId })
    },
  })
  return [
    atOnce('generation'),
    atOnce('edit'),
    {
      path: '/v1/images/generations/async',
      quote: async ({ principal, body }) => {
        checks.generation(body)
        const order = await readJsonOrder(
          { catalog, resolveHost },
          body,
          'generation',
          refuseForTasks,
        )
        return imageTasks.quote({ ...order, principal })
      },
    },
  ]
}

function videoPath(deps: QuoteDeps): QuotedPath {
  const check = misspeltRefusal(CreateVideoBodySchema, { foreign: deps.foreignMembers })
  return {
    path: '/v1/videos',
    quote: async ({ principal, body }) => {
      check(body)
      const order = await readVideoMembers(body, [], principal, deps)
      const { family, simpleVideo } = videoFamilyOf(deps.catalog, order.model)
      const accepted = simpleVideo.accept(order)
      const { model, facts, withAssets: bodyWith } = accepted
      const used = { projectName: undefined, bodyWith }
      const assets = taskAssetsOf(accepted.assets, 'input_reference', used)
      return deps.tasks.quoteTask({ principal, family, model, facts, assets })
    },
  }
}

/** What of the images and videos of `/v1` can be priced without being made. Forms, which bring files, cannot. */
export function v1QuotedPaths(deps: QuoteDeps): readonly QuotedPath[] {
  return [...imagePaths(deps), videoPath(deps)]
}
