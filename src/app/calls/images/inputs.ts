import type { ImageInput } from '../../../domain/families/image-rules.ts'
import type { ImageCall, SentImage } from '../../ports.ts'
import type { ImageDeps } from './deps.ts'
import type { ImageCallInput } from './types.ts'

/** The pictures that go upstream with an order. */
export type SentPictures = Pick<ImageCall, 'inputs' | 'mask'>

/** Opens the caller's files among the pictures of an order. @throws DomainError naming the member */
export async function sentPictures(
  { openImageFile }: Pick<ImageDeps, 'openImageFile'>,
  { principal, request }: ImageCallInput,
): Promise<SentPictures> {
  const sent = async (picture: ImageInput): Promise<SentImage> =>
    picture.from === 'file' ? openImageFile(principal, picture) : picture
  const inputs: SentImage[] = []
  for (const picture of request.inputs) inputs.push(await sent(picture))
  return { inputs, mask: request.mask && (await sent(request.mask)) }
}
