import type { AlsoKnown } from '../../../api/kit/names.ts'

/** Members that official clients write beside those of the schemas, in camel case. */
export const alsoInNative: AlsoKnown = {
  '': `model systemInstruction toolConfig safetySettings cachedContent labels
    store serviceTier topK mode models stream`,
  'contents[].parts[]': `
    functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse
    thought thoughtSignature videoMetadata mediaResolution partMetadata`,
  'contents[].parts[].inline_data': 'displayName',
  'contents[].parts[].file_data': 'displayName',
  generationConfig: `
    temperature topP topK maxOutputTokens candidateCount stopSequences seed speed
    responseMimeType responseSchema responseJsonSchema _responseJsonSchema responseFormat
    responseModalities responseLogprobs logprobs presencePenalty frequencyPenalty
    speechConfig imageConfig videoConfig mediaResolution audioTimestamp translationConfig
    routingConfig modelConfig modelSelectionConfig labels
    enableEnhancedCivicAnswers enableAffectiveDialog`,
  'generationConfig.thinkingConfig': 'includeThoughts',
}
