import type { AssetUseCases } from '../app/assets/types.ts'
import { createAssetUseCases } from '../app/assets/use-cases.ts'
import type { FileUseCases } from '../app/files/types.ts'
import { createFileUseCases } from '../app/files/use-cases.ts'
import type { ImageTaskUseCases } from '../app/tasks/images/types.ts'
import { createImageTaskUseCases } from '../app/tasks/images/use-cases.ts'
import type { TaskUseCases } from '../app/tasks/types.ts'
import { createTaskUseCases } from '../app/tasks/use-cases.ts'
import type { MediaUseCases } from '../app/calls/uploads/types.ts'
import { createMediaUseCases } from '../app/calls/uploads/use-cases.ts'
import type { ImageUseCases } from '../app/calls/images/types.ts'
import { createImageUseCases } from '../app/calls/images/use-cases.ts'
import { type CallRunner, createCallRunner } from '../app/calls/running.ts'
import type { StartedCalls } from '../app/calls/start.ts'
import type { Parts } from './compose.ts'

/** All that callers can ask for; what is answered at once goes over the road of calls. */
export function useCases(
  { tasks, imageTasks, files, assets, images, media }: Parts,
  { deps, running }: Pick<StartedCalls, 'deps' | 'running'>,
): {
  readonly tasks: TaskUseCases
  readonly imageTasks: ImageTaskUseCases
  readonly files: FileUseCases
  readonly assets: AssetUseCases
  readonly calls: CallRunner
  readonly images: ImageUseCases
  readonly media: MediaUseCases
} {
  return {
    tasks: createTaskUseCases(tasks),
    imageTasks: createImageTaskUseCases(imageTasks),
    files: createFileUseCases(files),
    assets: createAssetUseCases(assets, assets.findAssetTypes),
    calls: createCallRunner(deps, running),
    images: createImageUseCases({ ...deps, ...images }, running),
    media: createMediaUseCases({ ...deps, ...media }, running),
  }
}
