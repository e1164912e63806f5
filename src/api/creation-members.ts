import { type ForeignNames, foreignToCreations } from './kit/foreign-members.ts'
import { namesKnown } from './kit/misspelt.ts'
import { alsoInActions, bodySchemas as actionSchemas } from './prov-a/assets/schemas.ts'
import { alsoInTasks, CreateTaskBodySchema } from './prov-a/schemas.ts'
import { alsoInSpeech, SpeechBodySchema } from './prov-b/v1/speech/schemas.ts'
import { CloneBodySchema } from './prov-b/v1/voices/schemas.ts'
import { CreateVideoBodySchema as ProvBVideoBodySchema } from './prov-b/v2/schemas.ts'
import { alsoInClips, bodySchemas as clipSchemas } from './prov-c/schemas.ts'
import { alsoInChat, alsoInImages, alsoInResponses } from './v1/also-known.ts'
import { EditBodySchema, GenerationBodySchema } from './v1/images/schemas.ts'
import { ChatBodySchema, ResponsesBodySchema } from './v1/schemas.ts'
import { CreateVideoBodySchema } from './v1/videos/schemas.ts'
import { alsoInNative } from './v1beta/also-known.ts'
import { GenerateBodySchema } from './v1beta/schemas.ts'
import { spellings } from './v1beta/spelling.ts'

/** The members of every creation, which a creation that has not a member refuses: a further surface is a line here. */
export const foreignMembers: ForeignNames = foreignToCreations([
  ...namesKnown(ChatBodySchema, alsoInChat),
  ...namesKnown(ResponsesBodySchema, alsoInResponses),
  ...namesKnown(GenerateBodySchema, alsoInNative, spellings),
  ...namesKnown(GenerationBodySchema, alsoInImages.generation),
  ...namesKnown(EditBodySchema, alsoInImages.edit),
  ...namesKnown(CreateVideoBodySchema, {}),
  ...namesKnown(CreateTaskBodySchema, alsoInTasks),
  ...namesKnown(ProvBVideoBodySchema, {}),
  ...namesKnown(SpeechBodySchema, alsoInSpeech),
  ...namesKnown(CloneBodySchema, {}),
  ...Object.values(clipSchemas).flatMap((schema) => namesKnown(schema, alsoInClips)),
  ...(['CreateAssetGroup', 'CreateAsset', 'CreateVisualValidateSession'] as const).flatMap(
    (action) => namesKnown(actionSchemas[action], alsoInActions[action] ?? {}),
  ),
])
