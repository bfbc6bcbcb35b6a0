"""Read as text only, as twlocal reads the real one: which classes of models this vLLM knows."""

_TEXT_GENERATION_MODELS = {
    "BytesForCausalLM": ("bytes", "BytesForCausalLM"),
    "Gemma3ForConditionalGeneration": ("gemma3_mm", "Gemma3ForConditionalGeneration"),
}
