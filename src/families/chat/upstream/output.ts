import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { objectOf, objectsOf } from '../../kit/http/fields.ts'
import { bytesOf } from '../../kit/text/output.ts'

/** UTF-8 bytes of what a message, or a delta of one, says: text, reasoning, calls. */
export function chatOutputBytes(message: unknown): number {
  if (!isJsonObject(message)) return 0
  let bytes =
    bytesOf(message['content']) +
    bytesOf(message['reasoning_content']) +
    bytesOf(message['reasoning']) +
    bytesOf(message['refusal'])
  if (isJsonObject(message['function_call'])) bytes += callBytes(message['function_call'])
  for (const call of objectsOf(message['tool_calls']))
    bytes += callBytes(objectOf(call['function']))
  return bytes
}

function callBytes(called: JsonObject): number {
  return bytesOf(called['name']) + bytesOf(called['arguments'])
}
